/* ---- links inside the page: by hand, because in a frame of a notebook they would leave it ---- */
const goTo = (name) => {
  const target = document.getElementById(name);
  if (!target) return;
  if (target.tagName === "DETAILS") target.open = true;
  target.scrollIntoView();
  const heading = target.querySelector("h1, h2, h3, summary") || target;
  if (!heading.matches("summary, a, button")) heading.tabIndex = -1;
  heading.focus({ preventScroll: true });
};
document.addEventListener("click", (event) => {
  const link = event.target.closest('a[href^="#"]');
  if (!link) return;
  event.preventDefault();
  goTo(link.getAttribute("href").slice(1));
});
if (location.hash) goTo(location.hash.slice(1));
