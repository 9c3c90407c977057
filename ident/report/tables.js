"use strict";
// Tables that can be sorted, filtered, copied and saved; what can be copied with a button; where in the page one is.
(() => {
  const made = (name, properties, parent) => parent.appendChild(Object.assign(document.createElement(name), properties));
  const texts = (row) => [...row.cells].map((cell) => cell.title || cell.textContent.trim());  // in full

  // The number that a cell begins with, also in (1.2 ± 0.3)e-5; NaN without one.
  const value = (text) => {
    const found = text.replace(/−/g, "-").match(/^\(?([-+]?[\d.]+(?:e[-+]?\d+)?)(?: ± [^)]*)?\)?(?:e([-+]?\d+))?/i);
    return found ? +found[1] * 10 ** +(found[2] || 0) : NaN;
  };
  const order = (rows, k, way) => {
    const keyed = rows.map((row) => ({ row, text: row.cells[k].textContent.trim() }));
    for (const one of keyed) one.value = value(one.text);
    const others = keyed.filter((one) => isNaN(one.value)), words = new Set(others.map((one) => one.text));
    const numbers = others.length < keyed.length && words.size < 3;  // beside numbers: "n/a", "not determined"
    const compare = (a, b) => {
      if (!numbers) return way * a.text.localeCompare(b.text, "en", { numeric: true });
      return isNaN(a.value) - isNaN(b.value) || way * (a.value - b.value) || 0;  // what is no number comes last
    };
    return keyed.sort(compare).map((one) => one.row);
  };

  // Cells that a spreadsheet would run as a formula are made texts.
  const safe = (text) => (/^[=@\t]|^[-+](?![\d.])/.test(text) ? `'${text}` : text);
  const csv = (rows) => rows.map((row) => row.map((text) => `"${safe(text).replace(/"/g, '""')}"`).join(",")).join("\r\n");
  const tabbed = (rows) => rows.map((row) => row.map((text) => safe(text).replace(/\s+/g, " ")).join("\t")).join("\n");
  const save = (name, text) => {
    const address = URL.createObjectURL(new Blob(["\ufeff", text], { type: "text/csv" }));
    const link = made("a", { href: address, download: name }, document.body);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
  };
  const copy = async (text, button) => {
    try { await navigator.clipboard.writeText(text); } catch {
      const field = made("textarea", { value: text }, document.body);  // where a page from a file may not use the clipboard
      field.select();
      document.execCommand("copy");
      field.remove();
      button.focus();
    }
    const said = button.textContent;
    button.textContent = "copied";
    setTimeout(() => { button.textContent = said; }, 1500);
  };

  for (const table of document.querySelectorAll(".wide table")) {
    const body = table.tBodies[0], rows = [...body.rows], head = table.tHead, details = table.closest("details");
    const title = details.querySelector("summary").firstChild.textContent.trim(), count = details.querySelector(".count");
    const bar = made("div", { className: "tools" }, details);
    details.insertBefore(bar, table.closest(".wide"));
    const shown = () => [...(head ? [texts(head.rows[0])] : []), ...[...body.rows].filter((row) => !row.hidden).map(texts)];
    if (rows.length > 7) {
      const field = made("input", { type: "search", placeholder: "filter rows", ariaLabel: `filter rows of: ${title}` }, bar);
      field.addEventListener("input", () => {
        const wanted = field.value.toLowerCase().split(/\s+/);
        for (const row of rows) row.hidden = !wanted.every((word) => `${row.textContent} ${texts(row).join(" ")}`.toLowerCase().includes(word));
        const left = rows.filter((row) => !row.hidden).length;
        count.textContent = left < rows.length ? `(${left} of ${rows.length})` : `(${rows.length})`;
      });
    }
    made("button", { type: "button", textContent: "CSV", ariaLabel: `save as CSV: ${title}` }, bar)
      .addEventListener("click", () => save(`${title.replace(/[^\w-]+/g, "_").slice(0, 60)}.csv`, csv(shown())));
    made("button", { type: "button", textContent: "copy", ariaLabel: `copy: ${title}` }, bar)
      .addEventListener("click", (e) => copy(tabbed(shown()), e.target));
    if (!head || rows.length < 3) continue;
    [...head.rows[0].cells].forEach((cell, k) => {
      if (!cell.textContent) return;
      const button = document.createElement("button");
      Object.assign(button, { type: "button", className: "sort", title: "sort" });
      button.append(...cell.childNodes);
      cell.appendChild(button);
      button.addEventListener("click", () => {
        const next = { ascending: "descending", descending: "none" }[cell.ariaSort] || "ascending";
        for (const other of head.rows[0].cells) other.ariaSort = null;
        if (next !== "none") cell.ariaSort = next;
        body.append(...(next === "none" ? rows : order(rows, k, next === "ascending" ? 1 : -1)));
      });
    });
  }

  for (const button of document.querySelectorAll("button[data-copies]"))
    button.addEventListener("click", () => copy(document.getElementById(button.dataset.copies).textContent, button));

  const links = new Map([...document.querySelectorAll("nav a")].map((a) => [a.hash.slice(1), a]));
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting) for (const [name, a] of links) a.ariaCurrent = name === entry.target.id ? "true" : null;
  }, { rootMargin: "-20% 0px -75% 0px" });
  for (const name of links.keys()) seen.observe(document.getElementById(name));
})();
