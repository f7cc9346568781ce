/* ---- print: light, and as wide as a sheet of A4 or letter is inside a card ---- */
addEventListener("beforeprint", () => { printing = root.dataset.theme; setTheme("light"); });
addEventListener("afterprint", () => { const before = printing; printing = null; setTheme(before || root.dataset.theme); });
