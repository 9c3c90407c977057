"use strict";
// Draws the pictures of the page from the data in it, with zoom and a cursor. Tells how many in data-ready of <html>.
(() => {
  const { root, rounded, warped, scaled, ticks, words, index, element, watch } = SHARED;

  // ---- data: arrays are there once, as lists or as binary numbers -------------------------------------------------
  const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer;
  const opened = (a) => {
    if (Array.isArray(a)) return a.map((x) => (x === null ? NaN : Array.isArray(x) ? opened(x) : x));
    if (a.f4) return new Float32Array(bytes(a.f4));
    const scale = (a.hi - a.lo) / 65535;
    return Float32Array.from(new Int16Array(bytes(a.i2)), (x) => a.lo + (x + 32768) * scale);
  };
  const given = JSON.parse(document.getElementById("data").textContent);
  const arrays = given.arrays.map(opened);
  const numbers = (mark) => {
    for (const key in mark) if (mark[key] && mark[key].a !== undefined) mark[key] = arrays[mark[key].a];
    return mark;
  };

  // ---- marks ------------------------------------------------------------------------------------------------------
  let clips = 0;
  const colour = (mark) => `var(${mark.colour})`;
  const dashes = { "--": "6 4", ":": "2 3", "": "none", undefined: "none" };
  const sign = (parent, kind, x, y, size, fill) => {
    if (kind === "s") return element("rect", { x: x - size / 2, y: y - size / 2, width: size, height: size, fill }, parent);
    const h = size * 0.62;
    if (kind === "D") return element("path", { d: `M${x} ${y - h}L${x + h} ${y}L${x} ${y + h}L${x - h} ${y}Z`, fill }, parent);
    return element("circle", { cx: x, cy: y, r: size / 2, fill }, parent);
  };
  const spread = (values, a, b) => {  // least and largest of a stretch, NaN left out
    let lo = Infinity, hi = -Infinity;
    for (let i = a; i < b; i++) { const v = values[i]; if (v < lo) lo = v; if (v > hi) hi = v; }
    return [lo, hi];
  };
  const ordered = (x) => { for (let i = 1; i < x.length; i++) if (!(x[i] >= x[i - 1])) return false; return true; };

  // What each kind of mark covers, x and y, of what is seen between two places; how it is drawn.
  const KINDS = {
    line: {
      x: (m) => spread(m.x, 0, m.x.length),
      y: (m, p) => { const [a, b] = p.seen(m); return spread(m.y, a * m.k, b * m.k); },
      draw: (m, p, g) => {
        const [a, b] = p.seen(m), columns = Math.max(1, Math.round(p.width)), dense = m.sorted && (m.k > 1 || b - a > 2 * columns);
        let d = "", pen = "M";
        const to = (x, y) => { d += `${pen}${x.toFixed(1)} ${y.toFixed(1)}`; pen = "L"; };
        const step = dense ? Math.max(1, (b - a) / columns) : 1;
        for (let c = 0; a + c * step < b; c++) {
          const from = Math.floor(a + c * step), until = Math.max(from + 1, Math.min(b, Math.floor(a + (c + 1) * step)));
          if (!dense && isNaN(m.y[from] + m.x[from])) { pen = "M"; continue; }
          if (!dense) { to(p.sx(m.x[from]), p.sy(m.y[from])); continue; }
          const [lo, hi] = spread(m.y, from * m.k, until * m.k), x = p.sx(m.x[from]);
          for (const y of c % 2 ? [hi, lo] : [lo, hi]) to(x, p.sy(y));
        }
        element("path", { d, class: "curve", stroke: colour(m), "stroke-width": m.width || 1.3, "stroke-dasharray": dashes[m.dash] }, g);
      },
    },
    dots: {
      x: (m) => spread(m.x, 0, m.x.length), y: (m) => spread(m.y, 0, m.y.length),
      draw: (m, p, g) => {
        const size = m.size || 5;
        if (m.x.length > 200) {  // one path of squares is quicker than many circles
          let d = "";
          for (let i = 0; i < m.x.length; i++)
            if (p.inside(m.x[i])) d += `M${(p.sx(m.x[i]) - size / 2).toFixed(1)} ${(p.sy(m.y[i]) - size / 2).toFixed(1)}h${size}v${size}h-${size}z`;
          element("path", { d, class: "cloud", fill: colour(m) }, g);
        } else for (let i = 0; i < m.x.length; i++) sign(g, m.sign, p.sx(m.x[i]), p.sy(m.y[i]), size, colour(m));
      },
    },
    band: {
      x: (m) => spread(m.x, 0, m.x.length),
      y: (m) => [spread(m.low, 0, m.low.length)[0], spread(m.high, 0, m.high.length)[1]],
      draw: (m, p, g) => {
        const at = (y) => (x, i) => `${p.sx(x).toFixed(1)} ${p.sy(y[i]).toFixed(1)}`, x = Array.from(m.x);
        const edge = [...x.map(at(m.high)), ...x.map(at(m.low)).reverse()];
        if (x.length) element("path", { d: `M${edge.join("L")}Z`, fill: colour(m), opacity: m.opacity ?? 1 }, g);
      },
    },
    bars: {
      x: (m) => [0, spread(m.value, 0, m.value.length)[1]], y: (m) => spread(m.place, 0, m.place.length),
      draw: (m, p, g) => {
        const thick = Math.abs(p.sy(m.thick) - p.sy(0));
        for (let i = 0; i < m.place.length; i++) {
          const y = p.sy(m.place[i]), x = Math.max(p.sx(m.value[i]) - p.left, 0);
          element("rect", { x: p.left, y: y - thick / 2, width: x, height: thick, fill: colour(m) }, g);
          element("text", { x: p.left + x + 4, y: y + 4, class: "tick" }, g, m.texts[i]);
        }
      },
    },
    strip: {
      x: (m) => (m.axis === "x" ? [m.low, m.high] : [Infinity, -Infinity]), y: (m) => (m.axis === "y" ? [m.low, m.high] : [Infinity, -Infinity]),
      draw: (m, p, g) => {
        const s = m.axis === "x" ? p.sx : p.sy, a = Math.min(s(m.low), s(m.high)), span = Math.abs(s(m.high) - s(m.low));
        const box = m.axis === "x" ? [a, p.top, span, p.height] : [p.left, a, p.width, span];
        const [x, y, width, height] = box, look = { fill: colour(m), opacity: m.opacity ?? 1 };
        if (span > 0) element("rect", { x, y, width, height, ...look }, g);
        else element("line", { x1: x, y1: y, x2: x + width, y2: y + height, stroke: colour(m), "stroke-dasharray": dashes[m.dash] }, g);
      },
    },
    note: {
      draw: (m, p, g) => element("text", { x: p.sx(m.x) + (m.side === "left" ? -5 : 5), y: p.sy(m.y) + 4, class: m.side === "left" ? "tick end" : "tick", style: `fill: ${colour(m)}` }, g, m.text),
    },
    cells: {
      draw: (m, p, g) => m.values.forEach((row, r) => row.forEach((v, c) => {
        const x = p.sx(c - 0.5), y = p.sy(r - 0.5), look = { fill: v < 0 ? "var(--red)" : "var(--blue)", opacity: Math.abs(v) };
        if (Math.abs(v) > 0.03) element("rect", { x, y, width: p.sx(c + 0.5) - x, height: p.sy(r + 0.5) - y, ...look }, g);
      })),
    },
  };
  const nothing = () => [Infinity, -Infinity];
  const covered = (panel, which, shown = panel.marks) => shown.reduce(([a, b], m) => {
    const [lo, hi] = (KINDS[m.kind][which] || nothing)(m, panel);
    return [Math.min(a, lo), Math.max(b, hi)];
  }, [Infinity, -Infinity]);

  // ---- what is zoomed together -------------------------------------------------------------------------------------
  const links = new Map();
  class Link {
    constructor() { this.charts = new Set(); this.view = null; this.whole = [Infinity, -Infinity]; this.log = false; }
    show([a, b]) {
      const [f, g] = warped({ scale: this.log ? "log" : "linear" }), [lo, hi] = this.whole.map(f);
      const span = Math.min(Math.max(f(b) - f(a), (hi - lo) / 1e4), hi - lo), middle = (f(a) + f(b)) / 2;
      const from = Math.min(Math.max(middle - span / 2, lo), hi - span);
      this.view = span >= hi - lo ? null : [g(from), g(from + span)];
      for (const chart of this.charts) chart.draw();
    }
    act(what) {
      const [f, g] = warped({ scale: this.log ? "log" : "linear" }), [a, b] = (this.view || this.whole).map(f), h = (b - a) / 2;
      const moved = { in: [a + h / 2, b - h / 2], out: [a - h, b + h], left: [a - h, b - h], right: [a + h, b + h], all: this.whole.map(f) };
      this.show(moved[what].map(g));
    }
  }

  class Panel {
    constructor(chart, shown) {
      Object.assign(this, shown);
      this.marks = (shown.marks || []).map(numbers);
      this.tall = shown.height || 200;
      for (const m of this.marks) if (m.x && m.y && m.x.length) { m.k = m.y.length / m.x.length; m.sorted = ordered(m.x); }
      const name = this.x.link || Symbol("alone");
      if (!links.has(name)) links.set(name, new Link());
      this.link = links.get(name);
      this.link.charts.add(chart); this.link.log = this.x.scale === "log";
      let whole = this.x.limits || covered(this, "x");
      if (!(whole[1] > whole[0]) && !this.x.limits) whole = isFinite(whole[0]) ? [whole[0] - 1, whole[0] + 1] : [0, 1];
      this.link.whole = [Math.min(this.link.whole[0], ...whole), Math.max(this.link.whole[1], ...whole)];
      this.zooms = !this.y.named && !this.x.named;
    }
    seen(m) {  // the places of a mark that lie in what is seen, and one more to each side
      if (!m.sorted) return [0, m.x.length];
      return [Math.max(index(m.x, this.xr[0]) - 1, 0), Math.min(index(m.x, this.xr[1]) + 1, m.x.length)];
    }
    inside(x) { return x >= this.xr[0] && x <= this.xr[1]; }
    measure() {  // ranges and numbers, before the room that they take is known
      this.xr = this.link.view || this.x.limits || this.link.whole;
      let [lo, hi] = this.y.limits || covered(this, "y", this.marks.filter((m) => m.kind !== "strip" || m.low === m.high));
      if (!this.y.limits) {
        if (!(hi > lo)) [lo, hi] = isFinite(lo) ? [lo - (Math.abs(lo) || 1), lo + (Math.abs(lo) || 1)] : [-1, 1];
        const [f, g] = warped(this.y), room = 0.06 * (f(hi) - f(lo));
        [lo, hi] = [g(f(lo) - room), g(f(hi) + room)];
      }
      this.yr = [lo, hi];
      [this.yticks, this.ypower] = ticks(this.y, this.yr, Math.max(2, Math.min(6, this.tall / 28)));
    }
    place(left, top, right, height) {  // in the picture, once the room that the numbers take is known
      this.left = left; this.width = Math.max(right - left, 40); this.top = top + 6;
      [this.xticks, this.xpower] = ticks(this.x, this.xr, Math.max(2, this.width / 55));
      const long = Math.max(0, ...this.xticks.map(([, text]) => text.length));
      this.slanted = this.x.named && long * 6.2 > this.width / Math.max(this.xticks.length, 1);
      const below = this.slanted ? Math.min(long * 4.6, 80) + 10 : 16;
      this.height = height - 8 - (this.x.label || this.x.named ? below + (this.x.label ? 16 : 0) : 4);
      this.sx = scaled(this.x, this.xr, this.left, this.left + this.width);
      this.sy = scaled(this.y, this.yr, this.top + this.height, this.top);
      this.bottom = this.top + this.height; this.below = below;
    }
    draw(svg) {
      const { left, top, width, height, bottom } = this, named = this.x.label || this.x.named;
      const every = (ticks, room) => (v, k) => !(k % Math.ceil((11 * ticks.length) / room));  // names that do not touch
      const across = every(this.xticks, width), down = every(this.yticks, height);
      this.yticks.forEach(([v, text], k) => {
        const y = this.sy(v), most = Math.max(4, Math.floor((left - this.edge - 6) / 6));
        element("line", { x1: left, x2: left + width, y1: y, y2: y, class: "grid" }, svg);
        const shown = this.y.named && text.length > most ? `${text.slice(0, most - 1)}…` : text;
        if (this.y.label || (this.y.named && down(v, k))) element("text", { x: left - 5, y: y + 3.5, class: "tick end" }, svg, shown);
      });
      let end = -Infinity;  // of the number before
      this.xticks.forEach(([v, text], k) => {
        const x = this.sx(v), y = bottom + 13;
        element("line", { x1: x, x2: x, y1: top, y2: bottom, class: "grid" }, svg);
        const turned = this.slanted ? { class: "tick end", transform: `rotate(-45 ${x} ${y})` } : { class: "tick middle" };
        const half = 3.1 * text.length, free = this.x.named ? across(v, k) : x - half > end;
        if (named && free) element("text", { x, y, ...turned }, svg, text);
        if (named && free) end = x + half;
      });
      const clip = `clip${clips++}`;
      element("rect", { x: left, y: top - 1, width, height: height + 2 }, element("clipPath", { id: clip }, element("defs", {}, svg)));
      const g = element("g", { "clip-path": `url(#${clip})` }, svg);
      for (const m of this.marks) KINDS[m.kind].draw(m, this, g);
      const below = { x: left + width / 2, y: bottom + this.below + 12, class: "tick middle" };
      if (this.x.label) element("text", below, svg, words(this.x, this.xpower));
      const x = this.edge + 11, y = top + height / 2;
      if (this.y.label) element("text", { x, y, class: "tick middle", transform: `rotate(-90 ${x} ${y})` }, svg, words(this.y, this.ypower));
      this.cursor = element("g", { class: "cursor" }, svg);
    }
    point(v) {  // a line at a place of the first axis
      const x = this.sx(v);
      this.cursor.replaceChildren();
      if (this.inside(v)) element("line", { x1: x, x2: x, y1: this.top, y2: this.bottom }, this.cursor);
    }
    name(axis, v) { return (axis.ticks.find(([at]) => at === Math.round(v)) || ["", ""])[1]; }
    says(v, w) {  // what is at (v, w), in words
      const found = [], row = Math.round(w);
      for (const m of this.marks) {
        if (m.kind === "bars") for (let i = 0; i < m.place.length; i++) if (Math.round(m.place[i]) === row) found.push(`${m.label} ${m.texts[i]}`);
        if (m.kind === "cells" && m.values[row]) found.push(rounded(m.values[row][Math.round(v)]));
        if (m.kind === "dots" && (this.y.named || this.x.named))
          for (let i = 0; i < m.x.length; i++) if (this.y.named ? m.y[i] === row : m.x[i] === Math.round(v)) found.push(rounded(this.y.named ? m.x[i] : m.y[i]));
        if (m.kind === "line" && m.sorted && m.x.length) {
          const i = Math.min(index(m.x, v), m.x.length - 1), [lo, hi] = spread(m.y, i * m.k, (i + 1) * m.k);
          if (hi >= lo) found.push(`${m.label || this.y.label} ${lo === hi ? rounded(lo) : `${rounded(lo)} … ${rounded(hi)}`}`);
        }
      }
      const unit = this.y.unit && !this.y.named && this.y.unit !== "-" ? ` ${this.y.unit}` : "";
      return found.length ? found.join(", ") + unit : "";
    }
    where(v, w) {
      const names = [this.y.named ? this.name(this.y, w) : "", this.x.named ? this.name(this.x, v) : ""].filter(Boolean);
      return names.length ? names.join(", ") : `${this.x.label ? `${this.x.label} ` : ""}${rounded(v)} ${this.x.unit || ""}`.trim();
    }
  }

  class Chart {
    constructor(figure, shown) {
      this.figure = figure; this.columns = shown.columns || 1;
      this.panels = shown.panels.map((panel) => new Panel(this, panel));
      const marks = this.panels.flatMap((p) => p.marks).filter((m) => m.label);
      if (marks.length > 1) {
        const legend = figure.appendChild(document.createElement("p"));
        legend.className = "legend";
        for (const m of marks) {
          const key = legend.appendChild(document.createElement("span")), icon = element("svg", { viewBox: "0 0 18 10", "aria-hidden": "true" }, key);
          if (m.kind === "dots") sign(icon, m.sign, 9, 5, Math.max(m.size || 5, 5), colour(m));
          else if (m.kind === "line" || (m.kind === "strip" && m.low === m.high))
            element("line", { x1: 0, x2: 18, y1: 5, y2: 5, stroke: colour(m), "stroke-width": Math.max(m.width || 1, 1.5), "stroke-dasharray": dashes[m.dash] }, icon);
          else element("rect", { x: 2, y: 0, width: 14, height: 10, fill: colour(m), opacity: m.opacity ?? 1 }, icon);
          key.append(m.label);
        }
      }
      this.svg = element("svg", { role: "img", "aria-label": figure.dataset.description, tabindex: 0 }, figure);
      this.readout = figure.appendChild(document.createElement("p"));
      this.readout.className = "readout"; this.readout.setAttribute("aria-live", "polite");
      this.listen();
    }
    draw(paper) {  // paper: how wide it is printed
      this.width = paper || Math.max(this.figure.clientWidth, 240);
      this.svg.replaceChildren();
      const columns = !paper && this.width < 400 ? 1 : this.columns, wide = this.width / columns;
      for (const p of this.panels) p.measure();
      const text = (p) => (p.y.label || p.y.named ? Math.max(...p.yticks.map(([, t]) => t.length), 1) * 6.1 + (p.y.named ? 14 : 26) : 12);
      const room = Math.min(Math.max(...this.panels.map(text)), 0.45 * wide);
      let top = 0;
      for (let k = 0; k < this.panels.length; k += columns) {
        const row = this.panels.slice(k, k + columns), tall = Math.max(...row.map((p) => p.tall));
        row.forEach((p, c) => { p.edge = c * wide; p.place(c * wide + room, top, (c + 1) * wide - 8, tall); p.draw(this.svg); });
        top += tall;
      }
      this.svg.setAttribute("viewBox", `0 0 ${this.width} ${top}`);
    }
    point(panel, v, w) {
      const together = panel.x.link ? this.panels.filter((p) => p.link === panel.link) : [panel];
      for (const p of this.panels) p.cursor.replaceChildren();
      if (panel.zooms) for (const p of together) p.point(v);
      const said = together.map((p) => p.says(v, w)).filter(Boolean).join("; "), last = together[together.length - 1];
      this.readout.textContent = said ? `${last.where(v, w)}: ${said}` : "";
      this.at = [panel, v, w];
    }
    listen() {
      const { svg } = this;
      const place = (e) => { const box = svg.getBoundingClientRect(), s = this.width / box.width; return [(e.clientX - box.left) * s, (e.clientY - box.top) * s]; };
      const hit = ([x, y]) => this.panels.find((p) => x >= p.edge && x <= p.left + p.width + 8 && y >= p.top - 6 && y <= p.bottom + 30);
      let from = null, panel = null, box = null;
      const done = () => { if (box) box.remove(); from = box = null; };
      svg.addEventListener("pointerdown", (e) => { panel = hit(place(e)); from = panel && panel.zooms ? place(e)[0] : null; });
      svg.addEventListener("pointermove", (e) => {
        const [x, y] = place(e), over = from === null ? hit([x, y]) : panel;
        if (over) this.point(over, over.sx.back(Math.min(Math.max(x, over.left), over.left + over.width)), over.sy.back(y));
        if (from === null || Math.abs(x - from) < 4) return;
        if (!box) { svg.setPointerCapture(e.pointerId); box = element("rect", { class: "span", y: panel.top, height: panel.height }, svg); }
        box.setAttribute("x", Math.min(from, x)); box.setAttribute("width", Math.abs(x - from));
      });
      svg.addEventListener("pointerup", (e) => {
        const [x] = place(e), inside = (p) => panel.sx.back(Math.min(Math.max(p, panel.left), panel.left + panel.width));
        const view = from !== null && Math.abs(x - from) > 8 ? [inside(Math.min(from, x)), inside(Math.max(from, x))] : null;
        done();
        if (view) panel.link.show(view);
      });
      svg.addEventListener("pointercancel", done);
      svg.addEventListener("pointerleave", () => { if (from === null) { for (const p of this.panels) p.cursor.replaceChildren(); this.readout.textContent = ""; } });
      svg.addEventListener("dblclick", (e) => { const p = hit(place(e)); if (p && p.zooms) p.link.act("all"); });
      svg.addEventListener("keydown", (e) => {
        const what = { "+": "in", "-": "out", 0: "all" }[e.key], way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[e.key];
        if (!what && !way) return;
        e.preventDefault();
        const [p, v, w] = this.at || [this.panels[0], this.panels[0].sx.back(this.panels[0].left), this.panels[0].sy.back(this.panels[0].top + 8)];
        if (what && p.zooms) p.link.act(what);
        if (!way) return;
        const by = (axis, s, at, step, n) => (axis.named ? at + n : s.back(s(at) + step * n));
        this.point(p, by(p.x, p.sx, v, 4, way[0]), by(p.y, p.sy, w, 4, way[1]));
      });
    }
  }

  const charts = [...document.querySelectorAll("figure[data-picture]")].map((f) => new Chart(f, given.pictures[+f.dataset.picture]));
  const draw = (paper) => { for (const chart of charts) chart.draw(paper); };
  draw();
  addEventListener("beforeprint", () => draw(350));
  addEventListener("afterprint", () => draw());
  watch(() => draw());
  for (const button of document.querySelectorAll("button[data-zoom]"))
    button.addEventListener("click", () => links.get(button.dataset.link).act(button.dataset.zoom));
  root.dataset.ready = charts.length;
})();
