// The page's data are numbers and names; names reach the page as text only, never as markup.
const data = JSON.parse(document.getElementById("report-data").textContent);
const METRICS = ["bandwidth", "miss_rate", "excess", "deficit", "overshoot"];
const FALLING = new Set(["miss_rate", "deficit"]);
const find = (id) => document.getElementById(id);
const words = (metric) => metric.replaceAll("_", " ");

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

  // Beyond the last vertex, the last line goes on.
  at(t) {
    const from = Math.max(t, this.t[0]);
    const i = Math.min(this.before(from), Math.max(this.last - 1, 0));
    const j = Math.min(i + 1, this.last);
    const share = j === i || this.t[j] === this.t[i] ? 0 : (from - this.t[i]) / (this.t[j] - this.t[i]);
    const point = { t: from };
    for (const metric of METRICS) point[metric] = this.between(metric, i, j, share);
    return point;
  }

  between(metric, i, j, share) {
    const [one, two] = [this[metric][i], this[metric][j]];
    if (metric === "miss_rate" && this.exact) return share < 1 ? one : two;
    const value = one + share * (two - one);
    return FALLING.has(metric) ? Math.max(0, share > 1 ? two : value) : value;
  }

  // The smallest t that misses no more than `target`; where none does, the end.
  reach(target) {
    const miss = this.miss_rate;
    const i = miss.findIndex((value) => value <= target + 1e-6);
    if (i <= 0) return this.t[i < 0 ? this.last : 0];
    if (this.exact || miss[i] === miss[i - 1]) return this.t[i];
    return this.t[i - 1] + Math.min(1, (miss[i - 1] - target) / (miss[i - 1] - miss[i])) * (this.t[i] - this.t[i - 1]);
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
const references = data.references.map((columns) => new Curve(columns));
// It opens on the model to ship, every model at the coverage asked for.
const state = { x: data.axes[0], y: data.axes[1], unit: Object.values(data.units)[0], log: false, model: data.chosen, driver: "target", t: 1, coverage: data.coverage, cost: data.cost };
const active = () => models[state.model];
const points = () => models.map((model) => model.curve.at(position(model)));

// Where a model stands: at the coverage asked for, as delivered, at the same scale as the others, or at its own cheapest point.
function position(model) {
  const { curve } = model;
  if (state.driver === "coverage") return curve.reach(1 - state.coverage);
  if (state.driver === "cost") return curve.cheapest(state.cost, state.x, state.y, state.unit);
  if (state.driver === "delivered") return model.delivered;
  if (state.driver === "t" && model.knob === active().knob) return state.t;
  return model.target ?? curve.reach(1 - data.coverage);
}

function shown(point, metric) {
  return metric === "miss_rate" ? point[metric] : point[metric] / state.unit;
}

function price(point) {
  return state.cost * shown(point, state.x) + (1 - state.cost) * shown(point, state.y);
}

function digits(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  return Number.isFinite(value) ? String(Number(value.toPrecision(4))) : String(value);
}

function percent(value) {
  return `${digits(100 * value)}%`;
}

// Bands of the sampled rows at t; a bound that is not judged has none.
function bandsAt(model, t) {
  const { sample, knob } = model;
  const side = (bands) => bands.map((band) => (band === null ? Infinity : knob === "shift" ? Math.max(0, band + t) : t * band));
  return { below: side(sample.lower_band), above: side(sample.upper_band) };
}
