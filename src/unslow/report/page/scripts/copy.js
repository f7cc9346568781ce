/* ---- copy ---- */
for (const button of document.querySelectorAll("[data-copy]")) {
  button.addEventListener("click", async () => {
    const block = document.getElementById(button.dataset.copy);
    let done = false;
    try { await navigator.clipboard.writeText(block.textContent); done = true; } catch (_) {
      const range = document.createRange();
      range.selectNodeContents(block);
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      try { done = document.execCommand("copy"); } catch (_) { /* selected: the reader can press copy */ }
    }
    const label = button.textContent;
    button.textContent = done ? "Copied" : "Selected";
    setTimeout(() => { button.textContent = label; }, 1500);
  });
}
