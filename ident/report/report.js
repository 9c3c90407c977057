"use strict";
// The page around the pictures. Tells its state in attributes of <html>: data-ms (time since the page was asked for),
// data-wide (widths of content and window).
(() => {
  const root = document.documentElement;
  const say = document.getElementById("say");
  for (const cell of document.querySelectorAll("td[data-say]"))
    for (const event of ["click", "mouseenter", "focus"]) cell.addEventListener(event, () => { say.textContent = cell.dataset.say; });

  addEventListener("beforeprint", () => { for (const d of document.querySelectorAll("details")) d.open = true; });
  root.dataset.ms = Math.round(performance.now());
  root.dataset.wide = `${root.scrollWidth}/${root.clientWidth}`;
})();
