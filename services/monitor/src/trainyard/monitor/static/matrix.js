// The matrix for people: releases against stacks, images, accelerators. Text is set as text, never as markup.

const byId = (id) => document.getElementById(id);

function draw(matrix) {
  const { releases, hardware, published, promises, ...others } = matrix.tables;
  const rows = [releases, hardware, ...Object.values(others)].reduce((sum, table) => sum + table.length, 0);
  const gaps = matrix.findings.filter((finding) => !finding.fault);
  byId("link").textContent = `${rows} facts · ${gaps.length} gaps`;
  const choice = byId("framework");
  for (const name of new Set(releases.map((row) => row.framework))) choice.append(new Option(name, name));
  choice.value = "pytorch";
  choice.onchange = () => grid(choice.value, matrix.tables);
  grid(choice.value, matrix.tables);
  table(byId("images"), ["name", "framework", "version", "accelerators", "stack", "features"], matrix.images);
  table(byId("hardware"), ["product", "vendor", "kind", "memory_gib", "capability", "interconnect", "bf16_tflops"], hardware);
  table(byId("gaps"), ["table", "row", "text"], gaps);
}

// A line for each release, newest first; a column for each stack, the one with the most builds first.
function grid(framework, { releases, builds, cubins }) {
  const mine = builds.filter((row) => row.framework === framework);
  const often = Map.groupBy(mine, (row) => row.stack);
  const stacks = [...often.keys()].sort((a, b) => often.get(b).length - often.get(a).length);
  const kernels = cubins.filter((row) => row.framework === framework);
  const lines = releases.filter((row) => row.framework === framework).sort((a, b) => compare(b.release, a.release));
  const cells = lines.map(({ release, pythons }) => {
    const line = { release, python: pythons.replaceAll(",", " ") };
    for (const stack of stacks) {
      const known = often.get(stack).filter((row) => covers(row.releases, release));
      line[stack] = [...Map.groupBy(known, (row) => row.stack_version)]
        .sort(([a], [b]) => compare(a, b))
        .map(([version, rows]) => new Build(framework, release, stack, version, rows, kernels));
    }
    return line;
  });
  table(byId("grid"), ["release", "python", ...stacks], cells);
  byId("detail").textContent = "Choose a build to see what it is made of and who says so.";
}

// What is known of one release against one version of a stack.
class Build {
  constructor(framework, release, stack, version, rows, kernels) {
    this.label = version || "yes";
    this.name = `${framework} ${release} for ${stack} ${version}`.trim();
    this.parts = rows.map((row) => `${row.status}${row.libraries && `: ${row.libraries}`} (${row.source}, ${row.date})`);
    for (const row of stack === "cuda" ? kernels : [])
      if (row.cuda === version && covers(row.releases, release))
        this.parts.push(`kernels on ${row.machine}: ${row.cubins.replaceAll(",", ", ")}${row.ptx && `, PTX ${row.ptx}`} (${row.source})`);
  }

  button() {
    const node = document.createElement("button");
    node.type = "button";
    node.className = "yes";
    node.textContent = this.label;
    node.title = this.name;
    node.onclick = () => (byId("detail").textContent = `${this.name}. ${this.parts.join(" · ")}`);
    return node;
  }
}

// PEP 440 ranges as the tables write them: `==2.7.1`, `==2.7.*`, `>=2.9,<2.11`.
function covers(range, release) {
  return range.split(",").every((part) => {
    const [, operator, wanted] = part.match(/^(==|>=|<=|<|>)(.*)$/);
    if (wanted.endsWith(".*")) return `${release}.`.startsWith(wanted.slice(0, -1));
    const order = compare(release, wanted);
    return { "==": order === 0, ">=": order >= 0, "<=": order <= 0, "<": order < 0, ">": order > 0 }[operator];
  });
}

// By their numbers; `8.0.RC1` comes before `8.0.0`, `2.15.0.post1` after `2.15.0`.
function compare(a, b) {
  const key = (text) => text.replace(/\.?RC/i, ".-1.").split(".").map((part) => parseInt(part.replace("post", ""), 10) || 0);
  const [left, right] = [key(a), key(b)];
  for (let i = 0; i < Math.max(left.length, right.length); i++) {
    const difference = (left[i] ?? 0) - (right[i] ?? 0);
    if (difference) return difference;
  }
  return 0;
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
  if (!Array.isArray(value)) cell.textContent = value;
  else if (value[0] instanceof Build) cell.append(...value.map((build) => build.button()));
  else cell.textContent = value.join(", ");
}

// Last, since a class is not there before its line.
const answer = await fetch("api/matrix");
if (answer.ok) draw(await answer.json());
else byId("link").textContent = "the matrix does not answer; load the page again";
