/* ---- search: cards that hold every word stay ---- */
const find = document.getElementById("find");
const parts = [...document.querySelectorAll("main .card, main .note")];
const MOST_MARKS = 2000;

const marked = (words) => {
  if (!window.CSS || !CSS.highlights) return; /* older browsers: the cards are filtered, nothing is marked */
  CSS.highlights.delete("found");
  if (!words.length) return;
  const ranges = [];
  const texts = document.createTreeWalker(document.getElementById("main"), NodeFilter.SHOW_TEXT);
  while (texts.nextNode() && ranges.length < MOST_MARKS) {
    const text = texts.currentNode.data.toLowerCase();
    for (const word of words) {
      for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + word.length)) {
        const range = new Range();
        range.setStart(texts.currentNode, at);
        range.setEnd(texts.currentNode, at + word.length);
        ranges.push(range);
      }
    }
  }
  CSS.highlights.set("found", new Highlight(...ranges));
};

const search = () => {
  const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
  const holds = (part) => words.every((word) => part.textContent.toLowerCase().includes(word));
  let count = 0;
  for (const part of parts) {
    const found = holds(part);
    part.classList.toggle("unmatched", !found);
    count += Number(found);
    const folded = part.querySelector("details");
    if (folded && found && words.length) folded.open = true;
  }
  for (const section of document.querySelectorAll("main section")) {
    const found = section.matches(".card:not(.unmatched)") || section.querySelector(".card:not(.unmatched), .note:not(.unmatched)");
    section.classList.toggle("unmatched", !found);
    const link = document.querySelector(`.contents a[href="#${section.id}"]`);
    if (link) link.parentElement.classList.toggle("unmatched", !found);
  }
  document.querySelector(".search output").textContent = words.length ? `${count} of ${parts.length}` : "";
  marked(words);
};
find.addEventListener("input", search);
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.target.matches("input") || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  find.focus();
});
