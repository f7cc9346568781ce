/* ---- one time axis: charts of steps and memory, and a lane for each finding ---- */
let shownProcess = null; /* all of them, or the number of one */
const isShown = (process) => shownProcess == null || process === shownProcess;

const alongTheRun = (label, y, pick) => {
  const make = () => {
    const drawn = pick();
    const options = {
      full: [0, data.seconds], padding: [8, 12, 0, 0],
      cursor: Object.assign(cursor(), { sync: { key: "run" } }),
      legend: { show: drawn.length > 1 },
      series: [
        { label: "after", value: (u, value) => seconds(value) },
        ...drawn.map((each, index) => ({
          label: each.label, stroke: colour(drawn.length > 1 ? palette[index % palette.length] : "run"), width: 1.5,
          spanGaps: true, points: { show: false }, value: (u, value) => y(value),
        })),
      ],
      scales: { x: { time: false, auto: false }, y: { range: (u, min, max) => [0, max * 1.08 || 1] } },
      axes: [
        axis({ values: (u, values) => values.map(seconds) }),
        axis({ values: (u, values) => values.map((value) => (value == null ? "" : y(value))), size: 64 }),
      ],
    };
    const tables = drawn.length ? drawn.map((each) => [each.x, each.y]) : [[[0, data.seconds], [null, null]]];
    if (!drawn.length) options.series.push({ label });
    return { options, columns: uPlot.join(tables) };
  };
  make.height = 150;
  return overTime(make);
};

const stepsAlongTheRun = () => alongTheRun("step time", seconds, () => data.steps
  .filter((chart) => isShown(chart.process)).map((chart) => ({ label: chart.line, x: chart.time, y: chart.mean })));
const memoryAlongTheRun = () => alongTheRun("memory", bytes, () => data.memory
  .filter((chart) => isShown(chart.process)).slice(0, palette.length)
  .map((chart) => ({ label: chart.worker || `process ${chart.process}`, x: chart.x, y: chart.rss })));

const kinds = {
  step: [stepChart, data.steps], memory: [memoryChart, data.memory],
  graph: [graphChart, [data.graphs]], trace: [traceChart, [data.traces]],
  "time-steps": [stepsAlongTheRun, [null]], "time-memory": [memoryAlongTheRun, [null]],
};
for (const box of document.querySelectorAll("[data-chart]")) {
  const [maker, all] = kinds[box.dataset.chart];
  charts.push(new Chart(box, maker(all[Number(box.dataset.index || 0)])));
}

const timeline = document.querySelector(".timeline");
if (timeline) {
  const members = charts.filter((chart) => timeline.contains(chart.box));
  const lanes = timeline.querySelectorAll(".lane > span");
  const output = timeline.querySelector(".bar output");
  const follow = (min, max) => {
    for (const { u } of members) {
      if (u.scales.x.min !== min || u.scales.x.max !== max) u.setScale("x", { min, max });
    }
    for (const lane of lanes) {
      lane.style.left = `${(-min / (max - min)) * 100}%`;
      lane.style.width = `${(data.seconds / (max - min)) * 100}%`;
    }
    output.textContent = min <= 0 && max >= data.seconds ? "" : `${seconds(min)} to ${seconds(max)}`;
  };
  for (const member of members) member.onzoom = follow;
  for (const button of timeline.querySelectorAll(".bar [data-do]")) {
    button.addEventListener("click", () => members[0].act(button.dataset.do, button));
  }
}
