const root = document.documentElement;
const charts = [];
let printing = null; /* the theme to go back to */

/* ---- theme ---- */
const wantsDark = matchMedia("(prefers-color-scheme: dark)");
const setTheme = (name) => { root.dataset.theme = name; charts.forEach((chart) => chart.rebuild()); };
let chosen = null;
try { chosen = localStorage.getItem("unslow-theme"); } catch (_) { /* file:// may have no storage */ }
root.dataset.theme = chosen || (wantsDark.matches ? "dark" : "light");
wantsDark.addEventListener("change", () => { if (!chosen) setTheme(wantsDark.matches ? "dark" : "light"); });
document.getElementById("theme").addEventListener("click", () => {
  chosen = root.dataset.theme === "dark" ? "light" : "dark";
  try { localStorage.setItem("unslow-theme", chosen); } catch (_) { /* the choice then lasts for this view */ }
  setTheme(chosen);
});
const colour = (name) => getComputedStyle(root).getPropertyValue("--" + name).trim();
