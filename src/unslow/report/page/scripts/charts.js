const data = JSON.parse(document.getElementById("data").textContent);

/* ---- charts ---- */
class Chart {
  constructor(box, make) {
    this.box = box;
    this.plot = box.querySelector(".plot");
    this.output = box.querySelector(".bar output"); /* charts of the time axis share another bar */
    this.make = make;
    this.log = make.log || false;
    this.range = null;
    const logButton = box.querySelector('[data-do="log"]');
    if (logButton) logButton.setAttribute("aria-pressed", String(this.log));
    for (const button of box.querySelectorAll("[data-do]")) {
      button.addEventListener("click", () => this.act(button.dataset.do, button));
    }
    this.plot.addEventListener("keydown", (event) => this.key(event));
    this.rebuild();
    new ResizeObserver(() => {
      const width = this.width();
      if (Math.abs(width - this.u.width) > 1) this.u.setSize({ width, height: this.height() });
    }).observe(this.plot);
  }
  width() { return printing ? 620 : this.plot.clientWidth || 600; }
  height() { return this.make.height || (this.width() < 560 ? 230 : 320); }
  rebuild() {
    if (this.u) this.u.destroy();
    const { options, columns } = this.make(this.log);
    options.width = this.width();
    options.height = this.height();
    options.hooks = options.hooks || {};
    options.hooks.setScale = [(u, key) => { if (key === "x") this.zoomed(u); }];
    options.cursor.bind = { dblclick: () => () => { this.act("reset"); return null; } };
    this.full = options.full;
    this.u = new uPlot(options, columns, this.plot);
    this.u.setScale("x", this.range || { min: this.full[0], max: this.full[1] });
  }
  zoomed(u) {
    const { min, max } = u.scales.x;
    if (min == null) return;
    const all = min <= this.full[0] && max >= this.full[1];
    this.range = all ? null : { min, max };
    this.box.dataset.min = min;
    this.box.dataset.max = max;
    if (this.output) this.output.textContent = all ? "" : this.make.span(min, max);
    if (this.onzoom) this.onzoom(min, max);
  }
  to(min, max) {
    const [low, high] = this.full;
    const width = Math.min(high - low, Math.max(max - min, (high - low) / 5000));
    const left = Math.min(Math.max(min, low), high - width);
    this.u.setScale("x", { min: left, max: left + width });
  }
  act(what, button) {
    const { min, max } = this.u.scales.x;
    const middle = (min + max) / 2, half = (max - min) / 2;
    if (what === "in") this.to(middle - half / 2, middle + half / 2);
    else if (what === "out") this.to(middle - half * 2, middle + half * 2);
    else if (what === "left") this.to(min - half / 2, max - half / 2);
    else if (what === "right") this.to(min + half / 2, max + half / 2);
    else if (what === "reset") this.to(...this.full);
    else if (what === "log") {
      this.log = !this.log;
      button.setAttribute("aria-pressed", String(this.log));
      this.rebuild();
    }
  }
  key(event) {
    const what = { "+": "in", "=": "in", "-": "out", ArrowLeft: "left", ArrowRight: "right", 0: "reset" }[event.key];
    if (!what || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    this.act(what);
  }
}

const axis = (more) => Object.assign({
  stroke: colour("soft"), grid: { stroke: colour("grid"), width: 1 }, ticks: { stroke: colour("grid"), width: 1 },
  font: "12px system-ui, sans-serif",
}, more);
const cursor = () => ({ drag: { x: true, y: false }, points: { size: 6 }, focus: { prox: -1 } });

/* Lines given as points, drawn over a chart: trend, jump, forecast. */
const overlay = (u, points, stroke, dash, label) => {
  const { ctx } = u;
  ctx.save();
  ctx.beginPath();
  ctx.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
  ctx.clip();
  ctx.strokeStyle = ctx.fillStyle = stroke;
  ctx.lineWidth = 2 * devicePixelRatio;
  ctx.setLineDash(dash.map((part) => part * devicePixelRatio));
  ctx.beginPath();
  points.forEach(([x, y], index) => {
    const left = u.valToPos(x, "x", true), top = u.valToPos(y, "y", true);
    index ? ctx.lineTo(left, top) : ctx.moveTo(left, top);
  });
  ctx.stroke();
  if (label) {
    const [x, y] = points[points.length - 1];
    ctx.setLineDash([]);
    ctx.font = `600 ${12 * devicePixelRatio}px system-ui, sans-serif`;
    ctx.textAlign = "right";
    const top = Math.max(u.bbox.top + 16 * devicePixelRatio, u.valToPos(y, "y", true) - 8 * devicePixelRatio);
    ctx.fillText(label, Math.min(u.valToPos(x, "x", true), u.bbox.left + u.bbox.width) - 6 * devicePixelRatio, top);
  }
  ctx.restore();
};

const stepChart = (chart) => {
  const last = chart.x[chart.x.length - 1];
  const full = [chart.x[0], chart.forecast ? chart.forecast.points[1][0] : last];
  const make = (log) => {
    const floor = (values) => (log ? values.map((value) => (value > 0 ? value : null)) : values);
    const columns = [chart.x], series = [{ label: "step", value: (u, value) => whole(value) }], bands = [];
    if (!log) {
      /* Stacked from the bottom: the largest phase is the ground. Drawn top first, so that each fill ends at the axis. */
      const tops = [];
      let under = chart.x.map(() => 0);
      for (const phase of chart.phases) {
        under = under.map((value, index) => value + (phase.values[index] || 0));
        tops.push({ phase, top: under });
      }
      for (const { phase, top } of tops.reverse()) {
        columns.push(top);
        series.push({
          label: phase.label, stroke: colour(phase.phase), fill: colour(phase.phase), width: 0, points: { show: false },
          value: (u, value, at, index) => (index == null ? "–" : seconds(phase.values[index])),
        });
      }
    }
    columns.push(floor(chart.mean));
    series.push({ label: chart.merged ? "step time, mean" : "step time", stroke: colour("ink"), width: log ? 1.5 : 1, points: { show: false }, value: (u, value) => seconds(value) });
    if (chart.merged) {
      const at = columns.length;
      columns.push(floor(chart.high), floor(chart.low));
      series.push({ label: "longest", stroke: colour("soft"), width: .7, points: { show: false }, value: (u, value) => seconds(value) });
      series.push({ label: "shortest", stroke: colour("soft"), width: .7, points: { show: false }, value: (u, value) => seconds(value) });
      bands.push({ series: [at, at + 1], fill: colour("soft") + "33" });
    }
    const draw = (u) => {
      for (const line of chart.trend.lines) overlay(u, line, colour("bad"), chart.trend.shape === "steady" ? [2, 6] : [8, 5]);
      if (chart.trend.shape === "jumped" && chart.trend.at_step) {
        const { min, max } = u.scales.y;
        overlay(u, [[chart.trend.at_step, min], [chart.trend.at_step, max]], colour("bad"), [2, 3], `step ${whole(chart.trend.at_step)}`);
      }
      if (chart.forecast) overlay(u, chart.forecast.points, colour("bad"), [3, 4], chart.forecast.label);
    };
    const top = chart.forecast ? chart.forecast.points[1][1] : 0;
    const options = {
      full, series, bands, cursor: cursor(), hooks: { draw: [draw] },
      scales: {
        x: { time: false },
        y: log ? { distr: 3 } : { range: (u, min, max) => [0, Math.max(max, (u.scales.x.max ?? full[1]) >= full[1] ? top : 0) * 1.06 || 1] },
      },
      axes: [
        axis({ values: (u, values) => values.map(whole), label: "step", labelSize: 18, labelFont: "12px system-ui, sans-serif" }),
        axis({ values: (u, values) => values.map((value) => (value == null ? "" : seconds(value))), size: 64 }),
      ],
      legend: { live: true },
    };
    return { options, columns };
  };
  make.log = chart.log;
  make.span = (min, max) => `steps ${whole(min)} to ${whole(max)}`;
  return make;
};

const palette = ["trace", "input", "build", "eval", "sync", "save", "log", "hooks"];
const overTime = (make) => {
  make.span = (min, max) => `${seconds(min)} to ${seconds(max)}`;
  return make;
};

const memoryChart = (chart) => {
  const full = [chart.x[0], chart.x[chart.x.length - 1]];
  const make = () => {
    const line = (label, name, fill) => ({
      label, stroke: colour(name), fill: fill ? colour(name) + "33" : undefined, width: 2, spanGaps: true,
      points: { show: false }, value: (u, value) => bytes(value),
    });
    const tables = [[chart.x, chart.rss]];
    const series = [{ label: "after", value: (u, value) => seconds(value) }, line("resident memory", "run", true)];
    if (chart.heap.length) {
      tables[0].push(chart.heap);
      series.push(line("allocated by malloc", "other", false));
    }
    chart.holders.forEach((holder, index) => {
      tables.push([holder.x, holder.bytes]);
      series.push(line(holder.path, palette[index], true));
    });
    const options = {
      full, series, cursor: cursor(),
      scales: { x: { time: false }, y: { range: (u, min, max) => [0, max * 1.08 || 1] } },
      axes: [
        axis({ values: (u, values) => values.map(seconds) }),
        axis({ values: (u, values) => values.map(bytes), size: 64 }),
      ],
    };
    return { options, columns: uPlot.join(tables) };
  };
  return overTime(make);
};

const graphChart = (graphs) => {
  const full = [graphs[0].x[0], Math.max(...graphs.map((graph) => graph.x[graph.x.length - 1]))];
  return overTime(() => ({
    columns: uPlot.join(graphs.map((graph) => [graph.x, graph.nodes])),
    options: {
      full, cursor: cursor(),
      series: [
        { label: "after", value: (u, value) => seconds(value) },
        ...graphs.map((graph, index) => ({
          label: graphs.length > 1 ? `graph ${index + 1}` : "nodes", stroke: colour(palette[index]), width: 2,
          spanGaps: true, value: (u, value) => whole(value),
        })),
      ],
      scales: { x: { time: false }, y: { range: (u, min, max) => [0, max * 1.08 || 1] } },
      axes: [axis({ values: (u, values) => values.map(seconds) }), axis({ values: (u, values) => values.map(whole), size: 64 })],
    },
  }));
};

const traceChart = (traces) => {
  const drawn = traces.filter((each) => each.points.length);
  const times = drawn.flatMap((each) => each.points.map((point) => point[0]));
  const full = [0, Math.max(data.seconds, ...times)];
  return overTime((log) => {
    const joined = uPlot.join(drawn.map((each) => [each.points.map((point) => point[0]), each.points.map((point) => point[1])]));
    const reasons = drawn.map((each) => new Map(each.points.map((point) => [point[0], point[2]])));
    return {
      columns: joined,
      options: {
        full, cursor: cursor(),
        series: [
          { label: "after", value: (u, value) => seconds(value) },
          ...drawn.map((each, index) => ({
            label: each.name, stroke: colour(palette[index]), paths: () => null,
            points: { show: true, size: 7, fill: colour(palette[index]) },
            value: (u, value, at, row) => (value == null ? "–" : `${seconds(value)} (${reasons[at - 1].get(joined[0][row])})`),
          })),
        ],
        scales: { x: { time: false }, y: log ? { distr: 3 } : { range: (u, min, max) => [0, max * 1.1 || 1] } },
        axes: [axis({ values: (u, values) => values.map(seconds) }), axis({ values: (u, values) => values.map((value) => (value == null ? "" : seconds(value))), size: 64 })],
      },
    };
  });
};
