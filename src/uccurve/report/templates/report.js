"use strict";
// The page's data are numbers and names; names reach the page as text only, never as markup.
(() => {
  const data = JSON.parse(document.getElementById("report-data").textContent);
  const METRICS = ["bandwidth", "miss_rate", "excess", "deficit", "overshoot"];
  const FALLING = new Set(["miss_rate", "deficit"]);
  const SYMBOLS = ["circle", "square", "diamond", "triangle-up", "cross", "star", "hexagon"];
  const DASHES = ["solid", "dash", "dot", "dashdot"];
  const find = (id) => document.getElementById(id);
  const words = (metric) => metric.replaceAll("_", " ");
  const digits = (value) =>
    value === null || value === undefined || Number.isNaN(value) ? "–" : !Number.isFinite(value) ? String(value) : String(Number(value.toPrecision(4)));
  // Plotly reads a little markup in its labels: a name must come out as it went in.
  const label = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  const short = (text) => (innerWidth > 600 || text.length < 16 ? text : `${text.slice(0, 14)}…`);
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const colour = (index) => css(`--model-${index % 7}`);

  class Curve {
    constructor(columns) {
      Object.assign(this, columns);
      this.last = this.t.length - 1;
    }

    before(t) {
      let low = 0;
      let high = this.last;
      while (low < high) {
        const middle = (low + high + 1) >> 1;
        if (this.t[middle] <= t) low = middle;
        else high = middle - 1;
      }
      return low;
    }

    at(t) {
      const clipped = Math.min(Math.max(t, this.t[0]), this.t[this.last]);
      const i = this.before(clipped);
      const j = Math.min(i + 1, this.last);
      const share = j === i ? 0 : (clipped - this.t[i]) / (this.t[j] - this.t[i]);
      const point = { t: clipped };
      for (const metric of METRICS) {
        const steps = metric === "miss_rate" && this.exact;
        point[metric] = steps ? this[metric][i] : this[metric][i] + share * (this[metric][j] - this[metric][i]);
      }
      return point;
    }

    // The least t that misses no more than `target`; where none does, the end.
    reach(target) {
      const miss = this.miss_rate;
      const i = miss.findIndex((value) => value <= target + 1e-12);
      if (i <= 0) return this.t[i < 0 ? this.last : 0];
      if (this.exact || miss[i] === miss[i - 1]) return this.t[i];
      return this.t[i - 1] + ((miss[i - 1] - target) / (miss[i - 1] - miss[i])) * (this.t[i] - this.t[i - 1]);
    }

    cheapest(c, x, y, unit) {
      let best = 0;
      let least = Infinity;
      for (let i = 0; i <= this.last; i += 1) {
        const cost = c * this.value(x, i, unit) + (1 - c) * this.value(y, i, unit);
        if (cost < least) [least, best] = [cost, i];
      }
      return this.t[best];
    }

    value(metric, i, unit) {
      return metric === "miss_rate" ? this[metric][i] : this[metric][i] / unit;
    }
  }

  const models = data.models.map((model, index) => ({ ...model, index, curve: new Curve(model.curve) }));
  const references = data.references.map((reference) => ({ ...reference, curve: new Curve(reference.curve) }));
  const state = { x: data.axes[0], y: data.axes[1], unit: "raw", model: 0, driver: "t", t: data.delivered, miss: null, cost: data.cost };
  const scaled = () => data.vary === "scale";

  function size() {
    return state.unit === "std" ? data.std : 1;
  }

  function shown(point, metric) {
    return metric === "miss_rate" ? point[metric] : point[metric] / size();
  }

  function price(point) {
    return state.cost * shown(point, state.x) + (1 - state.cost) * shown(point, state.y);
  }

  // Where a model stands: at the same scale as the others, at the same miss rate, or at its own cheapest point.
  function position(model) {
    if (state.driver === "miss") return model.curve.reach(state.miss);
    if (state.driver === "cost") return model.curve.cheapest(state.cost, state.x, state.y, size());
    return state.t;
  }

  const active = () => models[state.model];
  const points = () => models.map((model) => model.curve.at(position(model)));

  function theme() {
    return { paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { color: css("--ink"), family: css("--font"), size: 13 } };
  }

  function axis(title) {
    const line = { gridcolor: css("--line"), linecolor: css("--ink"), zerolinecolor: css("--line"), tickcolor: css("--line") };
    return { title: { text: title, standoff: 8 }, ...line, automargin: true, rangemode: "tozero" };
  }

  function title(metric) {
    const raw = metric === "bandwidth" ? "bandwidth (half the mean width)" : words(metric);
    return metric === "miss_rate" || state.unit === "raw" ? raw : `${metric}, in deviations of y`;
  }

  function shape(curve) {
    if (!curve.exact || state.x === state.y) return "linear";
    return state.y === "miss_rate" ? "hv" : state.x === "miss_rate" ? "vh" : "linear";
  }

  const HOVER = `${data.vary} %{customdata[0]:.4g}<br>` + METRICS.map((metric, i) => `${words(metric)} %{customdata[${i + 1}]:.4g}`).join("<br>");

  function line(curve, name, look) {
    const unit = size();
    const column = (metric) => (metric === "miss_rate" ? curve[metric] : curve[metric].map((value) => value / unit));
    const columns = METRICS.map(column);
    const customdata = curve.t.map((t, i) => [t, ...columns.map((values) => values[i])]);
    const path = { x: columns[METRICS.indexOf(state.x)], y: columns[METRICS.indexOf(state.y)] };
    return { ...path, customdata, name: label(name), mode: "lines", line: { width: 2, shape: shape(curve), ...look }, hovertemplate: `${HOVER}<extra>${label(name)}</extra>` };
  }

  // A few huge critical scales must not squeeze the rest to the left: show where 95 % of the fall happens, and the points.
  function view() {
    const edges = { x: 0, y: 0 };
    const [fallsX, fallsY] = [FALLING.has(state.x), FALLING.has(state.y)];
    for (const { curve } of models) {
      const ends = ["x", "y"].map((side) => shown(curve.at(curve.end), state[side]));
      const starts = ["x", "y"].map((side) => shown(curve.at(curve.t[0]), state[side]));
      const limits = [Math.max(ends[0], starts[0]), Math.max(ends[1], starts[1])];
      if (fallsX !== fallsY) {
        const falling = fallsX ? state.x : state.y;
        const side = fallsX ? 1 : 0;
        const i = curve[falling].findIndex((value) => value <= 0.05 * curve[falling][0]);
        const settled = i < 0 ? limits[side] : curve.value(side ? state.y : state.x, i, size());
        if (settled > 0 && 2.5 * settled < limits[side]) limits[side] = 1.6 * settled;
      }
      edges.x = Math.max(edges.x, limits[0]);
      edges.y = Math.max(edges.y, limits[1]);
    }
    for (const { curve } of models) {
      const here = curve.at(data.delivered);
      const [x, y] = [shown(here, state.x), shown(here, state.y)];
      if (x < 2 * edges.x) edges.x = Math.max(edges.x, x);
      if (y < 2 * edges.y) edges.y = Math.max(edges.y, y);
    }
    return { x: [0, 1.04 * edges.x], y: [0, 1.06 * edges.y] };
  }

  function marks() {
    const places = points();
    const text = places.map((point) => [point.t, ...METRICS.map((metric) => shown(point, metric))]);
    return models.map((model, i) => ({
      x: [shown(places[i], state.x)], y: [shown(places[i], state.y)], customdata: [text[i]], mode: "markers", cliponaxis: false, showlegend: false, name: label(model.name),
      marker: { color: colour(i), size: i === state.model ? 16 : 11, symbol: SYMBOLS[i % 7], line: { color: css("--page"), width: 2 } },
      hovertemplate: `${HOVER}<extra>${label(model.name)}</extra>`,
    }));
  }

  function belongs(trace) {
    const n = models.length;
    return trace === 2 * n || trace === state.model || trace === n + state.model || trace === 2 * n + 1 + state.model;
  }

  function isocost() {
    const point = active().curve.at(position(active()));
    const [x, y] = [shown(point, state.x), shown(point, state.y)];
    const slope = -state.cost / (1 - state.cost);
    const far = 1e3 * (Math.abs(x) + Math.abs(y) + 1e-9);
    const ends = state.cost < 1 ? { x: [x - far, x + far], y: [y - slope * far, y + slope * far] } : { x: [x, x], y: [y - far, y + far] };
    return { ...ends, mode: "lines", line: { color: colour(state.model), width: 1, dash: "dot" }, name: "equal cost", hoverinfo: "skip", showlegend: true };
  }

  function drawCurves() {
    const edges = view();
    const traces = models.map((model, i) => line(model.curve, model.name, { color: colour(i), dash: DASHES[Math.floor(i / 7) % 4] }));
    traces.push(...references.map((reference) => line(reference.curve, reference.name, { color: css("--muted"), dash: "dash", width: 1.4 })));
    traces.push(isocost(), ...marks());
    // Raw curves compare only where predictions are shared; elsewhere one model is drawn at a time, beside its own constant band.
    if (!data.comparable) traces.forEach((trace, i) => { trace.visible = belongs(i); });
    const axes = { xaxis: { ...axis(title(state.x)), range: edges.x }, yaxis: { ...axis(title(state.y)), range: edges.y } };
    return draw("curves", traces, { showlegend: true, ...axes });
  }

  // Buttons stand in a margin of their own; on a phone, where fingers zoom, there are none. No button sends anything.
  const BUTTONS = [["toImage", "zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "resetScale2d"]];

  function draw(id, traces, more, sizing = "trace") {
    const wide = innerWidth > 600;
    const { clientWidth: width, clientHeight: height } = find(id);
    const size = matchMedia("print").matches ? { width, height } : { autosize: true };
    const paint = { bgcolor: "rgba(0,0,0,0)", color: css("--muted"), activecolor: css("--ink") };
    const layout = {
      ...theme(), margin: { l: 56, r: wide ? 40 : 12, t: 8, b: 48 }, dragmode: false, hovermode: "closest",
      legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0, itemsizing: sizing }, modebar: { orientation: "v", ...paint }, ...size, ...more,
    };
    const config = { displaylogo: false, responsive: true, scrollZoom: false, displayModeBar: wide ? "hover" : false, modeBarButtons: BUTTONS };
    return Plotly.react(find(id), traces, layout, config);
  }

  function moveMarks() {
    const first = references.length + models.length;
    const moved = [isocost(), ...marks()];
    const update = { x: moved.map((trace) => trace.x), y: moved.map((trace) => trace.y), customdata: moved.map((trace) => trace.customdata ?? null) };
    update["marker.size"] = moved.map((trace) => trace.marker?.size ?? null);
    return Plotly.restyle(find("curves"), update, moved.map((_, i) => first + i));
  }

  function bounds() {
    const { sample } = active();
    const { t } = active().curve.at(position(active()));
    const band = (value) => Math.max(0, scaled() ? t * value : value + t);
    const below = sample.lower_band.map(band);
    const above = sample.upper_band.map(band);
    const inside = sample.y_true.map((y, i) => y >= sample.y_pred[i] - below[i] * (1 + 1e-9) && y <= sample.y_pred[i] + above[i] * (1 + 1e-9));
    return { below, above, inside, t };
  }

  function drawRows() {
    const { sample } = active();
    const { below, above, inside } = bounds();
    const place = sample.row.map((_, i) => i);
    const only = (flag) => place.filter((i) => inside[i] === flag);
    const rows = (chosen) => ({ x: chosen, y: chosen.map((i) => sample.y_true[i]), customdata: chosen.map((i) => sample.row[i]), mode: "markers", hovertemplate: "row %{customdata}: %{y:.4g}<extra></extra>" });
    const traces = [
      { x: place, y: sample.y_pred, mode: "markers", name: "interval", marker: { color: colour(state.model), size: 3, symbol: "square" }, hoverinfo: "skip",
        error_y: { type: "data", symmetric: false, array: above, arrayminus: below, width: 0, thickness: 3, color: colour(state.model) } },
      { ...rows(only(true)), name: "observed, inside", marker: { color: css("--ink"), size: 5 } },
      { ...rows(only(false)), name: "observed, outside", marker: { color: css("--bad"), size: 9, symbol: "x" } },
    ];
    const axes = {
      xaxis: { ...axis(`${sample.row.length} of ${data.rows.toLocaleString("en")} rows, by prediction`), showticklabels: false, rangemode: "normal", range: [-1, place.length] },
      yaxis: { ...axis("y"), rangemode: "normal", range: span(sample) },
    };
    find("missed").textContent = `${only(false).length} of these ${place.length} rows lie outside.`;
    return draw("rows", traces, axes, "constant");
  }

  // Fixed while the scale moves, so that one sees the intervals grow: wide enough for the delivered ones and twice the largest error.
  function span(sample) {
    const low = Math.min(...sample.y_true, ...sample.y_pred);
    const high = Math.max(...sample.y_true, ...sample.y_pred);
    const room = 0.35 * (high - low || 1);
    return [low - room, high + room];
  }

  function fillPoints() {
    const body = find("points").tBodies[0];
    body.replaceChildren();
    points().forEach((point, i) => {
      const row = body.insertRow();
      row.dataset.active = String(i === state.model);
      const name = document.createElement("th");
      name.scope = "row";
      name.append(swatch(i), models[i].name);
      row.append(name);
      for (const value of [point.t, ...METRICS.map((metric) => shown(point, metric)), price(point)]) {
        row.insertCell().textContent = digits(value);
      }
    });
  }

  function swatch(index) {
    const mark = document.createElement("span");
    mark.className = `swatch model-${index % 7}`;
    mark.setAttribute("aria-hidden", "true");
    return mark;
  }

  function fillControls() {
    const point = active().curve.at(position(active()));
    const values = { t: point.t, miss: point.miss_rate, cost: state.cost };
    for (const [name, value] of Object.entries(values)) {
      const number = find(`${name}-number`);
      const slider = find(`${name}-slider`);
      if (document.activeElement !== number) number.value = String(Number(value.toPrecision(5)));
      if (document.activeElement !== slider) slider.value = String(Math.round(1000 * toSlider(name, value)));
      slider.setAttribute("aria-valuetext", `${digits(value)}`);
    }
    for (const name of ["t", "miss", "cost"]) find(`${name}-row`).dataset.driver = String(state.driver === name);
    const where = `${active().name} at ${data.vary} ${digits(point.t)}: miss rate ${digits(point.miss_rate)}, bandwidth ${digits(shown(point, "bandwidth"))}, cost ${digits(price(point))}.`;
    find("where").textContent = where;
  }

  function limits() {
    const { curve } = active();
    return [curve.t[0], Math.max(curve.t[curve.last], data.delivered)];
  }

  // A cube leaves room for small scales, where the curve bends.
  function toSlider(name, value) {
    if (name !== "t") return value;
    const [low, high] = limits();
    const share = (value - low) / (high - low || 1);
    return scaled() ? Math.cbrt(share) : share;
  }

  function fromSlider(name, share) {
    if (name !== "t") return share;
    const [low, high] = limits();
    return low + (scaled() ? share ** 3 : share) * (high - low);
  }

  // The explorer answers; what stands further down is drawn when nothing else is to be done.
  function ready() {
    if (document.documentElement.dataset.ready) return;
    document.documentElement.dataset.ready = "true";
    (window.requestIdleCallback ?? setTimeout)(drawGains);
  }

  let waiting = false;
  function refresh(all = false) {
    if (all) state.redraw = true;
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      const redraw = state.redraw;
      state.redraw = false;
      (redraw ? drawCurves() : moveMarks()).then(drawRows).then(ready);
      fillPoints();
      fillControls();
    });
  }

  function drive(name, value) {
    if (!Number.isFinite(value)) return;
    const [low, high] = name === "t" ? [scaled() ? 0 : -Infinity, Infinity] : [0, 1];
    state.driver = name;
    state[name] = Math.min(Math.max(value, low), high);
    refresh();
  }

  function bindControls() {
    for (const name of ["t", "miss", "cost"]) {
      find(`${name}-number`).addEventListener("input", (event) => drive(name, event.target.valueAsNumber));
      find(`${name}-number`).addEventListener("change", () => { find(`${name}-number`).blur(); refresh(); });
      find(`${name}-slider`).addEventListener("input", (event) => drive(name, fromSlider(name, Number(event.target.value) / 1000)));
    }
    find("delivered").addEventListener("click", () => drive("t", data.delivered));
    find("cheapest").addEventListener("click", () => drive("cost", state.cost));
    for (const name of ["x", "y", "unit"]) {
      find(`${name}-axis`).addEventListener("change", (event) => { state[name] = event.target.value; refresh(true); });
    }
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
    const at = (i) => [xaxis.d2p(curve.value(state.x, i, size())), yaxis.d2p(curve.value(state.y, i, size()))];
    let [ax, ay] = at(0);
    for (let i = 1; i <= curve.last; i += 1) {
      const [bx, by] = at(i);
      const length = (bx - ax) ** 2 + (by - ay) ** 2;
      const share = length === 0 ? 0 : Math.min(1, Math.max(0, ((px - ax) * (bx - ax) + (py - ay) * (by - ay)) / length));
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
      if (event.button !== 0 || event.target.closest(".modebar, .legend")) return;
      const hits = models.map((model) => (data.comparable || model === active() ? nearest(event, model) : { distance: Infinity }));
      const near = hits.reduce((best, hit, i) => (hit.distance < hits[best].distance ? i : best), 0);
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

  function drawGains() {
    if (!data.gains.length) return;
    const pairs = [...new Set(data.gains.flatMap((row) => Object.keys(row.spans)))];
    const step = 0.7 / pairs.length;
    const traces = pairs.map((pair, j) => {
      const rows = data.gains.map((row, i) => ({ i, span: row.spans[pair] })).filter(({ span: found }) => found);
      const percent = (value) => 100 * value;
      return {
        x: rows.map(({ span: found }) => percent(found[0])), y: rows.map(({ i }) => i + (j - (pairs.length - 1) / 2) * step),
        error_x: { type: "data", symmetric: false, array: rows.map(({ span: f }) => percent(f[2] - f[0])), arrayminus: rows.map(({ span: f }) => percent(f[0] - f[1])), thickness: 2, width: 4 },
        customdata: rows.map(({ i, span: f }) => [label(data.gains[i].name), percent(f[1]), percent(f[2])]), mode: "markers", name: words(pair),
        marker: { color: colour(j), size: 9, symbol: SYMBOLS[j] }, hovertemplate: "%{customdata[0]}: %{x:.1f} % (%{customdata[1]:.1f} to %{customdata[2]:.1f})<extra>" + words(pair) + "</extra>",
      };
    });
    const ticks = data.gains.map((_, i) => i);
    const axes = {
      xaxis: { ...axis("gain, %"), rangemode: "normal", zeroline: true, zerolinecolor: css("--ink") },
      yaxis: { ...axis(""), tickvals: ticks, ticktext: data.gains.map((row) => label(short(row.name))), range: [ticks.length - 0.4, -0.6], showgrid: false, zeroline: false },
    };
    draw("gains", traces, axes);
  }

  function sortable(table) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      head.querySelector("button")?.addEventListener("click", () => {
        const rising = head.getAttribute("aria-sort") !== "ascending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", rising ? "ascending" : "descending");
        const key = (row) => { const cell = row.cells[column]; return cell.dataset.value === undefined ? cell.textContent.trim() : Number(cell.dataset.value); };
        const order = (a, b) => {
          const [one, two] = [key(a), key(b)];
          if (typeof one === "string") return one.localeCompare(two);
          return Number.isNaN(one) - Number.isNaN(two) || one - two;
        };
        const rows = [...table.tBodies[0].rows].sort((a, b) => (rising ? 1 : -1) * order(a, b));
        table.tBodies[0].append(...rows);
      });
    });
  }

  document.querySelectorAll("table.sortable").forEach(sortable);
  bindControls();
  bindDrag();
  refresh(true);
  // At once: paper does not wait for the next frame.
  const repaint = () => { drawCurves(); drawRows(); drawGains(); };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
  matchMedia("print").addEventListener("change", repaint);
})();
