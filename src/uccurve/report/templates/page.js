const DRIVES = ["t", "coverage", "cost"].filter((name) => find(`${name}-row`));
let drawing = false;

// Numbers of a column with the same decimals: four digits of the smallest, six of the largest.
function alike(values) {
  const sizes = values.map(Math.abs).filter((value) => value > 0 && Number.isFinite(value));
  const digit = (value) => Math.floor(Math.log10(value));
  if (!sizes.length) return values.map(digits);
  const decimals = Math.min(3 - digit(Math.min(...sizes)), 5 - digit(Math.max(...sizes)));
  if (decimals < 0 || decimals > 12) return values.map(digits);
  return values.map((value) => (Number.isFinite(value) ? value.toFixed(decimals) : digits(value)));
}

function fillPoints() {
  const body = find("points").tBodies[0];
  const places = points();
  const columns = [["t", alike(places.map((place) => place.t))]];
  for (const metric of METRICS) {
    const share = metric === "miss_rate";
    const values = places.map((place) => (share ? 100 * place.miss_rate : shown(place, metric)));
    columns.push([metric, alike(values).map((text) => (share ? `${text}%` : text))]);
  }
  if (state.cost !== null) columns.push(["cost", alike(places.map(price))]);
  const heads = [...find("points").tHead.rows[0].cells].slice(1).map((head) => head.textContent);
  body.replaceChildren(...places.map((_, i) => {
    const row = document.createElement("tr");
    row.setAttribute("role", "row");
    row.dataset.active = String(i === state.model);
    const head = document.createElement("th");
    head.scope = "row";
    head.setAttribute("role", "rowheader");
    head.append(named(i));
    row.append(head);
    columns.forEach(([, texts], column) => {
      const cell = row.insertCell();
      cell.setAttribute("role", "cell");
      cell.dataset.name = heads[column];
      cell.textContent = texts[i];
    });
    return row;
  }));
}

// A name that may be broken after an underscore or a slash.
const breakable = (text) => text.split(/(?<=[_/])/).flatMap((part) => [part, document.createElement("wbr")]).slice(0, -1);

function named(index) {
  const name = document.createElement("span");
  name.className = "name";
  if (index < data.colours) {
    const swatch = document.createElement("span");
    swatch.className = `swatch model-${index}`;
    swatch.setAttribute("aria-hidden", "true");
    name.append(swatch);
  }
  const text = document.createElement("bdi");
  text.append(...breakable(models[index].name));
  name.append(text);
  return name;
}

function fillControls() {
  const point = active().curve.at(position(active()));
  const { knob } = active();
  find("t-label").textContent = knob === "shift" ? "Shift" : "Scale";
  const values = { t: point.t, coverage: 100 * (1 - point.miss_rate), cost: state.cost };
  for (const name of DRIVES) {
    const [number, slider] = [find(`${name}-number`), find(`${name}-slider`)];
    if (document.activeElement !== number) number.value = String(Number(values[name].toPrecision(5)));
    if (document.activeElement !== slider) slider.value = String(Math.round(1000 * toSlider(name, values[name])));
    slider.setAttribute("aria-valuetext", digits(values[name]));
    find(`${name}-row`).dataset.driver = String(state.driver === name);
  }
  const cost = state.cost === null ? "" : `, cost ${digits(price(point))}`;
  const said = ` at ${knob} ${digits(point.t)}: coverage ${percent(1 - point.miss_rate)}, ${data.width} ${digits(shown(point, "bandwidth"))}${cost}.`;
  find("where").replaceChildren(...breakable(active().name), said);
}

function limits() {
  const { curve, delivered } = active();
  return [curve.t[0], Math.max(curve.end, delivered)];
}

// A cube leaves room for small scales, where the curve bends.
function toSlider(name, value) {
  if (name !== "t") return name === "coverage" ? value / 100 : value;
  const [low, high] = limits();
  const share = (value - low) / (high - low || 1);
  return active().knob === "scale" ? Math.cbrt(share) : share;
}

function fromSlider(name, share) {
  if (name !== "t") return name === "coverage" ? 100 * share : share;
  const [low, high] = limits();
  return low + (active().knob === "scale" ? share ** 3 : share) * (high - low);
}

// Numbers at once; charts in the next frame, once their script is there.
let waiting = false;
function refresh(all = false) {
  if (all) state.redraw = true;
  fillPoints();
  fillControls();
  if (waiting || !drawing) return;
  waiting = true;
  requestAnimationFrame(() => { waiting = false; drawCharts(); });
}

function drawCharts() {
  const { redraw } = state;
  state.redraw = false;
  return (redraw ? drawCurves() : moveMarks()).then(drawRows).then(() => { document.documentElement.dataset.drawn = "true"; });
}

function drive(name, value) {
  if (!Number.isFinite(value)) return;
  state.driver = name;
  if (name === "t") state.t = active().knob === "scale" ? Math.max(0, value) : value;
  else state[name] = Math.min(1, Math.max(0, name === "coverage" ? value / 100 : value));
  refresh();
}

function bindControls() {
  for (const name of DRIVES) {
    const number = find(`${name}-number`);
    number.addEventListener("input", (event) => drive(name, event.target.valueAsNumber));
    number.addEventListener("change", () => { number.blur(); refresh(); });
    find(`${name}-slider`).addEventListener("input", (event) => drive(name, fromSlider(name, Number(event.target.value) / 1000)));
  }
  const go = (driver) => () => { state.driver = driver; refresh(); };
  for (const [id, driver] of [["at-target", "target"], ["at-delivery", "delivered"], ["at-cheapest", "cost"]]) find(id)?.addEventListener("click", go(driver));
  for (const name of ["x", "y"]) find(`${name}-axis`).addEventListener("change", (event) => { state[name] = event.target.value; refresh(true); });
  find("unit-axis").addEventListener("change", (event) => { state.unit = data.units[event.target.value]; refresh(true); });
  find("log-axes").addEventListener("change", (event) => { state.log = event.target.checked; refresh(true); });
  find("model").addEventListener("change", (event) => { state.model = Number(event.target.value); refresh(true); });
}

// Dragging along a curve: the vertex whose picture is nearest to the pointer.
function nearest(event, model) {
  const plot = find("curves");
  const { xaxis, yaxis, _size: inner } = plot._fullLayout;
  const box = plot.getBoundingClientRect();
  const [px, py] = [event.clientX - box.left - inner.l, event.clientY - box.top - inner.t];
  const { curve } = model;
  let best = { distance: Infinity, t: curve.t[0] };
  const at = (i) => [xaxis.d2p(curve.value(state.x, i, state.unit)), yaxis.d2p(curve.value(state.y, i, state.unit))];
  let [ax, ay] = at(0);
  for (let i = 1; i <= curve.last; i += 1) {
    const [bx, by] = at(i);
    const length = (bx - ax) ** 2 + (by - ay) ** 2;
    const share = length > 0 ? Math.min(1, Math.max(0, ((px - ax) * (bx - ax) + (py - ay) * (by - ay)) / length)) : 0;
    const distance = Math.hypot(ax + share * (bx - ax) - px, ay + share * (by - ay) - py);
    if (distance < best.distance) best = { distance, t: curve.t[i - 1] + share * (curve.t[i] - curve.t[i - 1]) };
    [ax, ay] = [bx, by];
  }
  return best;
}

function bindDrag() {
  const plot = find("curves");
  let dragging = false;
  plot.addEventListener("pointerdown", (event) => {
    if (!drawing || event.button !== 0 || event.target.closest(".modebar, .legend")) return;
    const hits = models.map((model) => nearest(event, model));
    const closer = (best, hit, i) => (hit.distance < hits[best].distance ? i : best);
    const near = hits[state.model].distance < 4 ? state.model : hits.reduce(closer, 0);
    if (hits[near].distance > 28) return;
    dragging = true;
    plot.setPointerCapture(event.pointerId);
    if (near !== state.model) {
      state.model = near;
      find("model").value = String(near);
      refresh(true);
    }
    drive("t", hits[near].t);
    event.preventDefault();
    event.stopPropagation();
  }, true);
  plot.addEventListener("pointermove", (event) => {
    if (!dragging) return;
    drive("t", nearest(event, active()).t);
    event.preventDefault();
  }, true);
  const stop = () => { dragging = false; };
  plot.addEventListener("pointerup", stop, true);
  plot.addEventListener("pointercancel", stop, true);
}

function sortable(table) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    head.querySelector("button")?.addEventListener("click", () => {
      const rising = head.getAttribute("aria-sort") !== "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", rising ? "ascending" : "descending");
      const worded = head.classList.contains("text");
      const key = (row) => { const cell = row.cells[column]; return worded ? cell.textContent.trim() : Number(cell.dataset.value ?? NaN); };
      const order = (a, b) => {
        const [one, two] = [key(a), key(b)];
        if (worded) return one.localeCompare(two);
        return Number.isNaN(one) - Number.isNaN(two) || one - two;
      };
      const rows = [...table.tBodies[0].rows].sort((a, b) => (rising ? 1 : -1) * order(a, b));
      table.tBodies[0].append(...rows);
    });
  });
}

function collapsible(table) {
  const count = table.tBodies[0].rows.length;
  if (count <= 15) return;
  table.classList.add("collapsed");
  const button = document.createElement("button");
  button.type = "button";
  button.className = "more";
  button.textContent = `Show all ${count} rows`;
  button.addEventListener("click", () => { table.classList.remove("collapsed"); button.remove(); });
  table.closest(".wide").after(button);
}

function copyable(button) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    const code = find(button.dataset.copies);
    try {
      await navigator.clipboard.writeText(code.textContent);
    } catch {
      getSelection().selectAllChildren(code);
      document.execCommand("copy");
    }
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  });
}

// Plotly's script, unpacked.
function unpacked() {
  const text = atob(find("plotly-packed").textContent);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i += 1) bytes[i] = text.charCodeAt(i);
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).text();
}

let source = null;
const unpack = async () => { source ??= unpacked(); return source; };

// It is run as a script of this page; the policy knows its hash.
const idle = () => new Promise((go) => { (window.requestIdleCallback ?? setTimeout)(go, { timeout: 500 }); });
let started = false;
async function start() {
  if (started) return;
  started = true;
  try {
    const script = document.createElement("script");
    script.textContent = await unpack();
    await idle();
    document.head.append(script);
    script.remove();
  } catch {
    find("no-charts").hidden = false;
    for (const plot of document.querySelectorAll(".explorer")) plot.hidden = true;
    return;
  }
  await idle();
  drawing = true;
  state.redraw = true;
  drawCharts();
}

document.querySelectorAll("table.sortable").forEach(sortable);
document.querySelectorAll("button.copy").forEach(copyable);
find("rows-part").hidden = models.every((model) => !model.sample);
bindControls();
bindDrag();
fillPoints();
fillControls();
document.querySelectorAll("table").forEach(collapsible);
document.documentElement.dataset.ready = "true";
// Charts start when they come into view, or soon after where they do not: paper cannot wait for them.
setTimeout(() => unpack().catch(() => null));
new IntersectionObserver((seen) => { if (seen.some((one) => one.isIntersecting)) start(); }, { rootMargin: "300px" }).observe(find("curves"));
setTimeout(start, 1500);
addEventListener("beforeprint", start);
// At once: paper does not wait for the next frame.
const repaint = () => { if (drawing) { drawCurves(); drawRows(); } };
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
matchMedia("print").addEventListener("change", repaint);
