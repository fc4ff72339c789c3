// Fill in a template and run it. The gateway says what is wrong, and each fault is shown beside its field; nothing is
// checked twice here. Text is set as text, never as markup.

const WORDS = {
  en: {
    templates: "Templates", language: "Language", advanced: "Advanced", run: "Run", look: "Show the job file",
    auto: "auto", required: "required", of: "version", builtIn: "ships with Trainyard", by: "published by",
    started: "started: ", nothing: "the gateway does not answer", faults: "Not started: see the fields above.",
  },
  zh: {
    templates: "作业模板", language: "语言", advanced: "高级选项", run: "运行", look: "查看作业文件",
    auto: "自动", required: "必填", of: "版本", builtIn: "随 Trainyard 提供", by: "发布者：",
    started: "已启动：", nothing: "网关没有响应", faults: "未启动：请查看上方字段。",
  },
};
const byId = (id) => document.getElementById(id);
const state = { language: "en", templates: [], shown: null, error: null };
const word = (name) => WORDS[state.language][name];
const say = (words) => words?.[state.language] || words?.en || "";

function element(tag, attributes = {}, text) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

async function ask(path, body) {
  const options = body && { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
  const response = await fetch(`api/v1/${path}`, options);
  const answer = await response.json();
  if (!response.ok) throw Object.assign(new Error(answer.detail), { faults: answer.errors ?? [] });
  return answer;
}

function drawWords() {
  document.documentElement.lang = state.language;
  for (const node of document.querySelectorAll("[data-word]")) node.textContent = word(node.dataset.word);
}

function drawList() {
  byId("list").replaceChildren(...state.templates.map((template) => {
    const button = element("button", { type: "button", id: `template-${template.name}` }, say(template.title));
    button.setAttribute("aria-current", String(template.name === state.shown?.name));
    button.append(element("small", {}, `${template.name} · ${template.framework}`));
    button.onclick = () => { location.hash = template.name; };
    return button;
  }));
}

function drawForm() {
  const template = state.shown;
  byId("form").hidden = !template;
  if (!template) return;
  const given = filledIn();
  byId("title").textContent = say(template.title);
  byId("description").textContent = say(template.description);
  const origin = template.built_in ? word("builtIn") : `${word("by")} ${template.owner}`;
  byId("facts").textContent = `${template.name} · ${template.framework} · ${word("of")} ${template.version} · ${origin}`;
  const fields = { plain: [], advanced: [] };
  for (const [name, parameter] of Object.entries(template.parameters)) {
    fields[parameter.advanced ? "advanced" : "plain"].push(field(name, parameter, given[name]));
  }
  byId("plain").replaceChildren(...fields.plain);
  byId("advanced").replaceChildren(...fields.advanced);
  byId("more").hidden = fields.advanced.length === 0;
  showFaults(state.error);
}

function field(name, parameter, given) {
  const box = element("div", { class: "field" });
  const isAuto = parameter.default === "auto" || typeof parameter.default === "object";
  const title = (say(parameter.title) || name) + (parameter.unit ? ` (${parameter.unit})` : "");
  const input = control(name, parameter, given ?? (isAuto ? "" : parameter.default));
  if (isAuto) input.placeholder = word("auto");
  else if (parameter.default === undefined) input.placeholder = word("required");
  box.append(element("label", { for: input.id }, title), " ", input);
  box.append(element("p", { class: "help", id: `help-${name}` }, say(parameter.help)));
  box.append(element("p", { class: "error", id: `error-${name}`, role: "alert" }));
  return box;
}

function control(name, parameter, value) {
  const attributes = { id: `field-${name}`, name, "aria-describedby": `help-${name} error-${name}` };
  if (parameter.type === "boolean") {
    const box = element("input", { ...attributes, type: "checkbox" });
    box.checked = value === true;
    return box;
  }
  if (parameter.choices?.length) {
    const select = element("select", attributes);
    select.append(...parameter.choices.map((choice) => element("option", { value: choice }, String(choice))));
    select.value = String(value);
    return select;
  }
  const input = element("input", { ...attributes, type: "text", autocomplete: "off", spellcheck: "false" });
  if (["int", "float"].includes(parameter.type)) input.inputMode = "decimal";
  input.value = value ?? "";
  return input;
}

function filledIn() {
  const values = {};
  for (const input of byId("form").querySelectorAll("[name]")) {
    if (input.type === "checkbox") values[input.name] = input.checked;
    else if (input.value !== "") values[input.name] = input.value;
  }
  return values;
}

function showFaults(error) {
  state.error = error;
  for (const node of document.querySelectorAll(".error")) node.textContent = "";
  for (const node of document.querySelectorAll("[aria-invalid]")) node.removeAttribute("aria-invalid");
  if (!error) return;
  const elsewhere = [];
  for (const fault of error.faults ?? []) {
    const name = fault.pointer.replace("/parameters/", "");
    const text = fault.detail + (fault.hint ? ` (${fault.hint})` : "");
    if (!byId(`field-${name}`)) { elsewhere.push(text); continue; }
    byId(`error-${name}`).textContent = text;
    byId(`field-${name}`).setAttribute("aria-invalid", "true");
    if (state.shown.parameters[name].advanced) byId("more").open = true;
  }
  if (!error.faults?.length) elsewhere.push(error.message || word("nothing"));
  byId("faults").textContent = elsewhere.join("; ") || word("faults");
}

async function render() {
  byId("started").textContent = "";
  byId("job").hidden = true;
  showFaults(null);
  const body = { version: state.shown.version, parameters: filledIn() };
  return (await ask(`templates/${state.shown.name}/render`, body)).job;
}

async function run(event) {
  event.preventDefault();
  try {
    const job = await ask("jobs", await render());
    byId("started").append(word("started"), element("a", { href: `./#job-${job.job_id}` }, job.job_id));
  } catch (error) { showFaults(error); }
}

async function look() {
  try {
    byId("job").textContent = JSON.stringify(await render(), null, 2);
    byId("job").hidden = false;
  } catch (error) { showFaults(error); }
}

async function choose() {
  const name = decodeURIComponent(location.hash.slice(1)) || state.templates[0]?.name;
  byId("plain").replaceChildren();
  byId("advanced").replaceChildren();
  try {
    state.shown = name ? await ask(`templates/${encodeURIComponent(name)}`) : null;
    byId("notice").textContent = "";
  } catch (error) {
    state.shown = null;
    byId("notice").textContent = error.message;
  }
  byId("started").textContent = "";
  byId("job").hidden = true;
  state.error = null;
  drawList();
  drawForm();
}

function speak(language) {
  state.language = language;
  localStorage.setItem("language", language);
  byId("language").value = language;
  drawWords();
  drawList();
  drawForm();
}

byId("language").onchange = (event) => speak(event.target.value);
byId("form").onsubmit = run;
byId("look").onclick = look;
window.onhashchange = choose;
speak(localStorage.getItem("language") ?? (navigator.language.startsWith("zh") ? "zh" : "en"));
try {
  state.templates = (await ask("templates")).templates;
  await choose();
} catch (error) { byId("notice").textContent = error.message || word("nothing"); }
