// The live panel: one stream of snapshots, drawn into the page. Text is set as text, never as markup.

const byId = (id) => document.getElementById(id);
const percent = (share) => `${Math.round(share * 100)} %`;
const width = (share) => `${Math.min(1, share) * 100}%`;
const gib = (bytes) => `${(bytes / 2 ** 30).toFixed(1)} GiB`;

const source = new EventSource("api/fleet/stream");
source.onmessage = (message) => draw(JSON.parse(message.data));
source.onopen = () => { byId("link").textContent = "live"; };
source.onerror = () => { byId("link").textContent = "the monitor does not answer; trying again"; };

function draw(fleet) {
  byId("devices").replaceChildren(...fleet.devices.map(device));
  byId("states").textContent = Object.entries(fleet.states).map(([state, count]) => `${count} ${state}`).join(" · ");
  byId("none").hidden = fleet.jobs.length > 0;
  byId("jobs").replaceChildren(...fleet.jobs.map(job));
}

function element(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

function device(data) {
  const card = element("div", "card");
  card.append(element("p", "", `${data.node} · ${data.kind} · ${data.model}`));
  card.append(element("strong", "", data.utilisation === undefined ? "not measured" : percent(data.utilisation)));
  if (data.memory_total) card.append(element("p", "", `${gib(data.memory_used)} of ${gib(data.memory_total)}`));
  const meter = element("div", "meter");
  const fill = element("div");
  fill.style.width = width(data.utilisation ?? 0);
  meter.append(fill);
  card.append(meter);
  return card;
}

function job(data) {
  const node = byId("job").content.cloneNode(true).firstElementChild;
  node.id = `job-${data.id}`;
  const state = node.querySelector(".state");
  state.textContent = data.state;
  state.classList.add(data.state);
  node.querySelector("h3").textContent = data.name;
  node.querySelector(".meta").textContent = `${data.framework} · ${data.owner} · ${data.id}`;
  const done = fraction(data);
  const bar = node.querySelector(".bar");
  bar.setAttribute("aria-valuenow", Math.round(done * 100));
  bar.setAttribute("aria-label", `progress of ${data.name}`);
  bar.firstElementChild.style.width = width(done);
  node.querySelector(".words").textContent = words(data);
  curve(node.querySelector(".curve"), data.curve);
  node.querySelector(".conversions").append(...data.conversions.map(conversion));
  return node;
}

function fraction(data) {
  if (data.state === "succeeded") return 1;
  const { epoch, epochs, step, steps } = data.progress;
  if (epochs) return epoch / epochs;
  return steps ? step / steps : 0;
}

function words(data) {
  const parts = [];
  const { epoch, epochs, step, steps, metrics } = data.progress;
  if (epoch !== null && epoch !== undefined) parts.push(`epoch ${epoch}${epochs ? `/${epochs}` : ""}`);
  if (step !== null && step !== undefined) parts.push(`step ${step}${steps ? `/${steps}` : ""}`);
  for (const [name, value] of Object.entries(metrics ?? {})) {
    if (value !== null) parts.push(`${name.replaceAll("_", " ")} ${Number(value.toPrecision(4))}`);
  }
  if (data.usage.processes) parts.push(`${data.usage.cpu_cores.toFixed(1)} cores, ${gib(data.usage.memory_used)}`);
  if (data.message) parts.push(data.message);
  const { used, attempt, message } = data.restarts;
  const paid = Object.entries(used ?? {}).map(([budget, count]) => `${count} ${budget}`);
  if (paid.length) parts.push(`restarts: ${paid.join(", ")}`);
  if (message && message !== data.message) parts.push(`attempt ${attempt} ended: ${message}`);
  return parts.join(" · ");
}

function curve(svg, points) {
  if (points.length < 2) { svg.remove(); return; }
  const xs = points.map((point) => point[0]);
  const ys = points.map((point) => point[1]);
  const scale = (value, low, high, size) => (high > low ? ((value - low) / (high - low)) * size : size / 2);
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  const at = ([x, y]) => `${scale(x, Math.min(...xs), Math.max(...xs), 200).toFixed(1)},${(38 - scale(y, Math.min(...ys), Math.max(...ys), 36)).toFixed(1)}`;
  path.setAttribute("d", `M${points.map(at).join("L")}`);
  svg.append(path);
}

function conversion(data) {
  const item = element("li");
  const served = data.result.served ?? {};
  let text = `conversion ${data.state}`;
  if (data.state === "running") text += `: ${data.message || data.step} (${percent(data.fraction)})`;
  if (data.state === "failed") text += `: ${data.message}`;
  if (data.state === "succeeded" && data.result.max_abs_error !== null) text += `, largest difference ${data.result.max_abs_error.toExponential(1)}`;
  if (served.predicted !== undefined) text += `, served prediction ${served.predicted}`;
  item.append(element("span", "", `${text} `));
  if (data.report) {
    const link = element("a", "", "report");
    link.href = data.report;
    item.append(link);
  }
  return item;
}
