// The matrix for people: releases against stacks, images, accelerators. Text is set as text, never as markup.

const byId = (id) => document.getElementById(id);

const answer = await fetch("api/matrix");
if (answer.ok) draw(await answer.json());
else byId("link").textContent = "the matrix does not answer; load the page again";

function draw(matrix) {
  const { releases, builds, hardware } = matrix.tables;
  const rows = Object.values(matrix.tables).reduce((sum, table) => sum + table.length, 0);
  const gaps = matrix.findings.filter((finding) => !finding.fault).length;
  byId("link").textContent = `${rows} facts · ${gaps} gaps`;
  const choice = byId("framework");
  for (const name of new Set(releases.map((row) => row.framework))) choice.append(new Option(name, name));
  choice.value = "pytorch";
  choice.onchange = () => grid(choice.value, releases, builds);
  grid(choice.value, releases, builds);
  table(byId("images"), ["name", "framework", "version", "accelerators", "stack", "features"], matrix.images);
  table(byId("hardware"), ["product", "vendor", "kind", "memory_gib", "capability", "interconnect", "bf16_tflops"], hardware);
}

function grid(framework, releases, builds) {
  const mine = builds.filter((row) => row.framework === framework);
  const name = (row) => `${row.stack} ${row.stack_version}`.trim();
  const stacks = [...new Set(mine.map(name))].sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
  const lines = releases.filter((row) => row.framework === framework).reverse();
  const cells = lines.map((release) => {
    const known = new Map(mine.filter((row) => covers(row.releases, release.release)).map((row) => [name(row), row]));
    const line = { release: release.release, python: release.pythons.replaceAll(",", " ") };
    for (const stack of stacks) line[stack] = known.get(stack);
    return line;
  });
  table(byId("grid"), ["release", "python", ...stacks], cells);
}

// The tables write `==2.7.1` or `==2.7.*` for the releases of a build.
function covers(range, release) {
  const wanted = range.replace("==", "");
  return wanted.endsWith(".*") ? `${release}.`.startsWith(wanted.slice(0, -1)) : wanted === release;
}

function table(node, columns, rows) {
  const head = document.createElement("thead").insertRow();
  for (const column of columns) {
    const cell = document.createElement("th");
    cell.scope = "col";
    cell.textContent = column.replaceAll("_", " ");
    head.append(cell);
  }
  const body = document.createElement("tbody");
  for (const row of rows) {
    const line = body.insertRow();
    for (const column of columns) fill(line.insertCell(), row[column]);
  }
  node.replaceChildren(head.parentNode, body);
}

function fill(cell, value) {
  if (value === undefined || value === "") return;
  if (Array.isArray(value)) cell.textContent = value.join(", ");
  else if (typeof value === "object") {
    cell.textContent = "built";
    cell.className = "yes";
    cell.title = `${value.libraries} (${value.source}, ${value.date})`;
  } else cell.textContent = value;
}
