const SYMBOLS = ["circle", "square", "diamond", "triangle-up", "cross", "star", "hexagon", "pentagon"];
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
// Plotly reads a little markup in its labels: a name must come out as it went in.
const label = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
const name = (model) => label(isNarrow() ? model.brief : model.label);
const onPaper = () => matchMedia("print").matches;
const isNarrow = () => onPaper() || innerWidth <= 600;
const coloured = (index) => index < data.colours || index === state.model;
const colour = (index) => (index < data.colours ? css(`--model-${index}`) : index === state.model ? css("--accent") : css("--other"));

function theme(size) {
  return { paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { color: css("--ink"), family: css("--font"), size } };
}

function axis(title) {
  const line = { gridcolor: css("--line"), linecolor: css("--ink"), zerolinecolor: css("--line"), tickcolor: css("--line") };
  return { title: { text: title, standoff: 8 }, ...line, automargin: true };
}

function title(metric) {
  if (metric === "miss_rate") return "miss rate";
  const unit = Object.entries(data.units).find(([, size]) => size === state.unit)[0];
  const name = metric === "bandwidth" ? `${data.width} (bandwidth)` : metric;
  return state.unit === 1 ? name : `${metric}, in ${unit}`;
}

function shape(curve) {
  if (!curve.exact || state.x === state.y) return "linear";
  return state.y === "miss_rate" ? "hv" : state.x === "miss_rate" ? "vh" : "linear";
}

const hover = (knob) => `${knob} %{customdata[0]:.4g}<br>` + METRICS.map((metric, i) => `${words(metric)} %{customdata[${i + 1}]:.4g}`).join("<br>");

function line(curve, called, knob, look, more = {}) {
  const column = (metric) => (metric === "miss_rate" ? curve[metric] : curve[metric].map((value) => value / state.unit));
  const columns = METRICS.map(column);
  const path = { x: columns[METRICS.indexOf(state.x)], y: columns[METRICS.indexOf(state.y)] };
  const customdata = curve.t.map((t, i) => [t, ...columns.map((values) => values[i])]);
  return { ...path, customdata, name: called, mode: "lines", line: { width: 2, shape: shape(curve), ...look }, hovertemplate: `${hover(knob)}<extra>${called}</extra>`, ...more };
}

// Where the choice is: the coloured curves up to the half-width of the cut, twice the largest that ships; as `view.corner`.
function view() {
  const edges = { x: 0, y: 0 };
  const cut = data.cut === null ? Infinity : data.cut * Object.values(data.units)[0];
  for (const { curve } of models.filter((_, i) => coloured(i))) {
    const beyond = curve.bandwidth.findIndex((half) => half >= cut);
    const end = beyond < 0 ? curve.last : Math.max(beyond, 1);
    for (const side of ["x", "y"]) {
      const values = curve[state[side]].slice(0, end + 1);
      const largest = state[side] === "bandwidth" ? Math.min(cut, curve.bandwidth[curve.last]) : Math.max(...values);
      edges[side] = Math.max(edges[side], state[side] === "miss_rate" ? largest : largest / state.unit);
    }
  }
  return { x: edges.x || 1, y: edges.y || 1 };
}

// A line as it is drawn, with the corners of its steps.
function corners(trace) {
  const { x, y, line: { shape: kind } } = trace;
  if (kind === "linear") return [x, y];
  const across = [x[0]];
  const up = [y[0]];
  for (let i = 1; i < x.length; i += 1) {
    across.push(kind === "hv" ? x[i] : x[i - 1], x[i]);
    up.push(kind === "hv" ? y[i - 1] : y[i], y[i]);
  }
  return [across, up];
}

// What the bands of the chosen model know: the area between its curve and that of its constant band.
function shade(own, constant) {
  const look = { mode: "none", fill: "toself", fillcolor: translucent(css("--accent")), hoverinfo: "skip", showlegend: false };
  if (!constant) return { ...look, x: [], y: [] };
  const [x, y] = corners(own);
  const [back, down] = corners(constant);
  return { ...look, x: [...x, ...back.reverse()], y: [...y, ...down.reverse()] };
}

const translucent = (colour) => `${colour}26`;

// Where the coloured models lie as delivered.
function delivered(edges) {
  const right = (state.log ? 1.1 : 1.04) * edges.x;
  const drawn = models.filter((_, i) => coloured(i));
  const places = drawn.map((model) => model.curve.at(model.delivered));
  const x = places.map((place) => Math.min(right, shown(place, state.x)));
  const y = places.map((place) => shown(place, state.y));
  const colours = drawn.map((model) => colour(model.index));
  const marker = { size: 9, symbol: "circle-open", color: colours, line: { width: 2, color: colours } };
  const names = places.map((_, i) => [name(drawn[i])]);
  return { x, y, customdata: names, mode: "markers", name: "as delivered", marker, cliponaxis: false, hovertemplate: "%{customdata[0]}, as delivered<extra></extra>", legendrank: 900 };
}

const low = (metric, edge) => (metric === "miss_rate" ? Math.max(1e-4, 0.5 / data.rows) : edge / 200);
const range = (metric, edge) => (state.log ? [Math.log10(low(metric, edge)), Math.log10(1.1 * edge)] : [metric === "bandwidth" && data.width === "shift" ? -edge : 0, (metric === "miss_rate" ? 1.02 : 1.04) * edge]);

function axes(edges) {
  const one = (metric, edge) => ({ ...axis(title(metric)), type: state.log ? "log" : "linear", range: range(metric, edge), tickformat: metric === "miss_rate" ? ".3~%" : "" });
  return { xaxis: one(state.x, edges.x), yaxis: one(state.y, edges.y) };
}

// Operating points; one beyond the right edge is an arrow there.
function marks(edges) {
  const right = (state.log ? 1.1 : 1.04) * edges.x;
  const places = points();
  return models.map((model, i) => {
    const place = places[i];
    const [x, y] = [shown(place, state.x), shown(place, state.y)];
    const far = x > right;
    return {
      x: [far ? right : x], y: [y], customdata: [[place.t, ...METRICS.map((metric) => shown(place, metric))]], mode: "markers", cliponaxis: false, showlegend: false, name: name(model),
      marker: { color: colour(i), size: i === state.model ? 16 : coloured(i) ? 11 : 6, symbol: far ? "triangle-right" : coloured(i) ? SYMBOLS[i % 8] : "circle", line: { color: css("--page"), width: coloured(i) ? 2 : 1 } },
      hovertemplate: `${hover(model.knob)}<extra>${name(model)}${far ? " (beyond the edge)" : ""}</extra>`,
    };
  });
}

function isocost() {
  const point = active().curve.at(position(active()));
  const [x, y] = [shown(point, state.x), shown(point, state.y)];
  const slope = -state.cost / (1 - state.cost);
  const far = 1e3 * (Math.abs(x) + Math.abs(y) + 1e-9);
  const ends = state.cost < 1 ? { x: [x - far, x + far], y: [y - slope * far, y + slope * far] } : { x: [x, x], y: [y - far, y + far] };
  const asked = state.cost !== null && !state.log;
  return { ...ends, visible: asked, mode: "lines", line: { color: colour(state.model), width: 1, dash: "dot" }, name: "equal cost", hoverinfo: "skip", showlegend: asked };
}

// One constant band for all models where they share predictions, else that of the chosen model.
const ownReference = (i) => data.comparable || i === state.model;

function drawCurves() {
  const edges = view();
  const order = models.map((_, i) => i).sort((a, b) => coloured(a) - coloured(b) || (a === state.model) - (b === state.model));
  const curves = order.map((i) => line(models[i].curve, name(models[i]), models[i].knob, { color: colour(i), width: i === state.model ? 3 : coloured(i) ? 2 : 1 }, { legendrank: i, showlegend: coloured(i) }));
  const constants = references.map((curve, i) => line(curve, data.comparable ? "constant band" : "its constant band", active().knob, { color: css("--muted"), dash: "dash", width: 1.4 }, { visible: ownReference(i), legendrank: 500 }));
  const area = shade(curves[order.indexOf(state.model)], constants[data.comparable ? 0 : state.model]);
  const traces = [area, ...curves, ...constants, delivered(edges), isocost(), ...marks(edges)];
  const columns = isNarrow() ? { entrywidth: 0.48, entrywidthmode: "fraction" } : {};
  return draw("curves", traces, { showlegend: true, ...axes(edges) }, { itemsizing: "trace", ...columns });
}

// Buttons stand in a margin of their own; on a phone, where fingers zoom, there are none. No button sends anything.
const BUTTONS = [["toImage", "zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "resetScale2d"]];

function draw(id, traces, more, legend) {
  const narrow = isNarrow();
  const { clientWidth: width, clientHeight: height } = find(id);
  const size = onPaper() ? { width, height } : { autosize: true };
  const paint = { bgcolor: "rgba(0,0,0,0)", color: css("--muted"), activecolor: css("--ink") };
  const layout = {
    ...theme(narrow ? 11 : 13), margin: { l: 56, r: narrow ? 12 : 40, t: 8, b: 48 }, dragmode: false, hovermode: "closest",
    legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0, font: { size: narrow ? 10 : 12 }, ...legend }, modebar: { orientation: "v", ...paint }, ...size, ...more,
  };
  const config = { displaylogo: false, responsive: true, scrollZoom: false, displayModeBar: narrow ? false : "hover", modeBarButtons: BUTTONS };
  return Plotly.react(find(id), traces, layout, config);
}

function moveMarks() {
  const first = references.length + models.length + 2; // after the area and the points as delivered
  const moved = [isocost(), ...marks(view())];
  const update = { x: moved.map((trace) => trace.x), y: moved.map((trace) => trace.y), customdata: moved.map((trace) => trace.customdata ?? null) };
  update["marker.size"] = moved.map((trace) => trace.marker?.size ?? null);
  update["marker.symbol"] = moved.map((trace) => trace.marker?.symbol ?? null);
  return Plotly.restyle(find("curves"), update, moved.map((_, i) => first + i));
}

const drawn = (band) => (Number.isFinite(band) ? band : 0);

function drawRows() {
  const { sample } = active();
  if (!sample) return null;
  const { t } = active().curve.at(position(active()));
  const { below, above } = bandsAt(active(), t);
  const slack = 1e-5 * Math.max(...sample.y_pred.map(Math.abs), ...[...below, ...above].filter(Number.isFinite), 0);
  const inside = sample.y_true.map((y, i) => y >= sample.y_pred[i] - below[i] - slack && y <= sample.y_pred[i] + above[i] + slack);
  const place = sample.row.map((_, i) => i);
  const bars = Math.max(1, Math.min(4, (0.45 * find("rows").clientWidth) / place.length));
  const only = (flag) => place.filter((i) => inside[i] === flag);
  const rows = (chosen) => ({ x: chosen, y: chosen.map((i) => sample.y_true[i]), customdata: chosen.map((i) => sample.row[i]), mode: "markers", hovertemplate: "row %{customdata}: %{y:.4g}<extra></extra>" });
  const traces = [
    { x: place, y: sample.y_pred, mode: "markers", name: "interval", marker: { color: colour(state.model), size: 3, symbol: "square" }, hoverinfo: "skip",
      error_y: { type: "data", symmetric: false, array: above.map(drawn), arrayminus: below.map(drawn), width: 0, thickness: bars, color: colour(state.model) } },
    { ...rows(only(true)), name: "observed, inside", marker: { color: css("--ink"), size: 5 } },
    { ...rows(only(false)), name: "observed, outside", marker: { color: css("--broken"), size: 9, symbol: "x" } },
  ];
  const both = {
    xaxis: { ...axis(`${sample.row.length} of ${data.rows.toLocaleString("en")} rows, by prediction`), showticklabels: false, range: [-1, place.length] },
    yaxis: { ...axis("y"), range: span(sample) },
  };
  find("missed").textContent = `${only(false).length} of these ${place.length} rows lie outside.`;
  return draw("rows", traces, both, { itemsizing: "constant" });
}

// Fixed while the scale moves, so that one sees the intervals grow: wide enough for the delivered ones and twice the largest error.
function span(sample) {
  const low = Math.min(...sample.y_true, ...sample.y_pred);
  const high = Math.max(...sample.y_true, ...sample.y_pred);
  const room = 0.35 * (high - low || 1);
  return [low - room, high + room];
}
