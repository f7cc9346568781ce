/* ---- tabs: one process, or all ---- */
const tabs = [...document.querySelectorAll('[role="tab"]')];
const showProcess = (tab) => {
  shownProcess = tab.dataset.show === "" ? null : Number(tab.dataset.show);
  for (const each of tabs) {
    each.setAttribute("aria-selected", String(each === tab));
    each.tabIndex = each === tab ? 0 : -1;
  }
  document.getElementById("per-process").setAttribute("aria-labelledby", tab.id);
  for (const part of document.querySelectorAll("[data-process]")) {
    part.classList.toggle("elsewhere", !isShown(Number(part.dataset.process)));
  }
  charts.forEach((chart) => chart.rebuild());
};
tabs.forEach((tab, index) => {
  tab.addEventListener("click", () => showProcess(tab));
  tab.addEventListener("keydown", (event) => {
    const to = { ArrowRight: index + 1, ArrowLeft: index - 1, Home: 0, End: tabs.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const next = tabs[(to + tabs.length) % tabs.length];
    next.focus();
    showProcess(next);
  });
});
