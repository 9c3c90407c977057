// What is wider than the page can be scrolled by the keyboard: tables, and code, whose mark the theme takes away where
// there is no mouse.
const reachable = (wide) => {
  if (wide.scrollWidth > wide.clientWidth && wide.tabIndex !== 0) wide.tabIndex = 0;
};
addEventListener("load", () => {
  for (const wide of document.querySelectorAll(".md-typeset__scrollwrap, pre > code")) {
    reachable(wide);
    new MutationObserver(() => reachable(wide)).observe(wide, { attributeFilter: ["tabindex"] });
  }
});
