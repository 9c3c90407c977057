"use strict";
// Draws measured and predicted torque with zoom from the data in the page; tells the page's state in attributes of
// <html>: data-errors (script errors), data-ready (charts drawn), data-ms (time since the page was asked for), data-wide
// (widths of content and window).
(() => {
  const root = document.documentElement;
  const failed = (what) => { root.dataset.errors = (root.dataset.errors || "") + what + "; "; };
  addEventListener("error", (e) => failed(e.message));
  addEventListener("unhandledrejection", (e) => failed(String(e.reason)));

  const NS = "http://www.w3.org/2000/svg";
  const bytes = (text) => {
    const raw = atob(text), found = new Uint8Array(raw.length);
    for (let i = 0; i < raw.length; i++) found[i] = raw.charCodeAt(i);
    return found.buffer;
  };
  const element = (name, attributes, parent, text) => {
    const e = document.createElementNS(NS, name);
    for (const k in attributes) e.setAttribute(k, attributes[k]);
    if (text !== undefined) e.textContent = text;
    if (parent) parent.appendChild(e);
    return e;
  };
  const nice = (span, most) => {
    const raw = span / most, power = 10 ** Math.floor(Math.log10(raw)), x = raw / power;
    return (x <= 1 ? 1 : x <= 2 ? 2 : x <= 5 ? 5 : 10) * power;
  };
  const below = (x) => {  // the largest round number that is not larger: -it, 0 and it fit on an axis from -x to x
    const power = 10 ** Math.floor(Math.log10(x)), m = x / power;
    return (m >= 8 ? 8 : m >= 5 ? 5 : m >= 4 ? 4 : m >= 2 ? 2 : 1) * power;
  };
  const shown = (x, step) => {
    const digits = Math.max(0, Math.min(9, -Math.floor(Math.log10(step) + 1e-9)));
    return (Math.abs(x) < step / 1e6 ? 0 : x).toFixed(digits).replace("-", "\u2212");
  };

  class Series {  // least and largest value of each stretch, or every value (k = 1), as 16 bit between lo and hi
    constructor(given, k) {
      this.raw = new Int16Array(bytes(given.data)); this.k = k; this.lo = given.lo;
      this.scale = (given.hi - given.lo) / 65535;
    }
    value(raw) { return this.lo + (raw + 32768) * this.scale; }
    at(i, largest) { return this.value(this.raw[this.k * i + (largest ? this.k - 1 : 0)]); }
    range(a, b) {
      const raw = this.raw;
      let lo = 32767, hi = -32768;
      for (let i = this.k * a; i < this.k * b; i++) { const x = raw[i]; if (x < lo) lo = x; if (x > hi) hi = x; }
      return [this.value(lo), this.value(hi)];
    }
  }

  const LEFT = 60, RIGHT = 8, UPPER = [6, 138], LOWER = [156, 206], HEIGHT = 240;

  class Chart {
    constructor(figure, recording, joint) {
      this.figure = figure; this.recording = recording; this.unit = joint.unit;
      this.series = ["measured", "predicted", "residual"].map((s) => new Series(joint[s], recording.k));
      this.svg = element("svg", { role: "img", "aria-label": figure.dataset.description });
      figure.appendChild(this.svg);
      this.listen();
    }
    x(t) { const [a, b] = this.recording.view; return LEFT + ((t - a) / (b - a)) * (this.width - LEFT - RIGHT); }
    time(x) {
      const [a, b] = this.recording.view;
      return a + (Math.min(Math.max((x - LEFT) / (this.width - LEFT - RIGHT), 0), 1)) * (b - a);
    }
    draw() {
      const { t, view } = this.recording;
      this.width = Math.max(this.figure.clientWidth, 240);
      this.svg.setAttribute("viewBox", `0 0 ${this.width} ${HEIGHT}`);
      this.svg.replaceChildren();
      let a = index(t, view[0]), b = Math.min(index(t, view[1]) + 1, t.length);
      a = Math.max(a - 1, 0); b = Math.max(b, a + 1);
      const [m, p, r] = this.series, clip = `c${Math.random().toString(36).slice(2)}`;
      element("rect", { x: LEFT, y: 0, width: this.width - LEFT - RIGHT, height: HEIGHT },
        element("clipPath", { id: clip }, element("defs", {}, this.svg)));
      const [m0, m1] = m.range(a, b), [p0, p1] = p.range(a, b), [r0, r1] = r.range(a, b);
      const big = Math.max(Math.abs(r0), Math.abs(r1)) || 1;
      this.grid(view, [Math.min(m0, p0), Math.max(m1, p1)], [-big, big]);
      const inside = element("g", { "clip-path": `url(#${clip})` }, this.svg);
      this.line(inside, m, a, b, this.y1, "measured");
      this.line(inside, p, a, b, this.y1, "predicted");
      this.line(inside, r, a, b, this.y2, "residual");
      this.cursor = element("g", { class: "cursor" }, this.svg);
    }
    grid(view, upper, lower) {
      const axis = ([top, bottom], [lo, hi]) => {
        const room = 0.06 * (hi - lo) || Math.abs(hi) || 1; lo -= room; hi += room;
        const y = (v) => bottom - ((v - lo) / (hi - lo)) * (bottom - top);
        const step = bottom - top > 80 ? nice(hi - lo, 5) : below(hi);
        for (let v = Math.ceil(lo / step) * step; v <= hi; v += step) {
          element("line", { x1: LEFT, x2: this.width - RIGHT, y1: y(v), y2: y(v), class: "grid" }, this.svg);
          element("text", { x: LEFT - 5, y: y(v) + 3.5, class: `tick end ${top === LOWER[0] ? "left-over" : ""}` }, this.svg, shown(v, step));
        }
        return y;
      };
      this.y1 = axis(UPPER, upper); this.y2 = axis(LOWER, lower);
      element("line", { x1: LEFT, x2: this.width - RIGHT, y1: this.y2(0), y2: this.y2(0), class: "zero" }, this.svg);
      const step = nice(view[1] - view[0], this.width / 80);
      for (let v = Math.ceil(view[0] / step) * step; v <= view[1]; v += step) {
        for (const [y1, y2] of [UPPER, LOWER]) element("line", { x1: this.x(v), x2: this.x(v), y1, y2, class: "grid" }, this.svg);
        element("text", { x: this.x(v), y: LOWER[1] + 13, class: "tick middle" }, this.svg, shown(v, step));
      }
      element("text", { x: (LEFT + this.width) / 2, y: HEIGHT - 6, class: "tick middle" }, this.svg, "time [s]");
      for (const [[top, bottom], what] of [[UPPER, "torque"], [LOWER, "residual"]]) {
        const y = (top + bottom) / 2;
        element("text", { x: 10, y, class: "tick middle", transform: `rotate(-90 10 ${y})` }, this.svg, `${what} [${this.unit}]`);
      }
    }
    line(parent, series, a, b, y, kind) {
      const t = this.recording.t, columns = Math.round(this.width - LEFT - RIGHT), step = Math.max(1, (b - a) / columns);
      let d = "";
      for (let c = 0; a + c * step < b; c++) {
        const from = Math.floor(a + c * step), to = Math.max(from + 1, Math.min(b, Math.floor(a + (c + 1) * step)));
        const x = this.x(t[from]).toFixed(1);
        if (to - from === 1 && series.k === 1) { d += `${d ? "L" : "M"}${x} ${y(series.at(from, 0)).toFixed(1)}`; continue; }
        const [lo, hi] = series.range(from, to), ends = c % 2 ? [hi, lo] : [lo, hi];
        d += `${d ? "L" : "M"}${x} ${y(ends[0]).toFixed(1)}L${x} ${y(ends[1]).toFixed(1)}`;
      }
      element("path", { d, class: kind }, parent);
    }
    point(t) {  // a line at time t, and what the curves say there
      this.cursor.replaceChildren();
      const i = Math.min(index(this.recording.t, t), this.recording.t.length - 1), x = this.x(this.recording.t[i]);
      element("line", { x1: x, x2: x, y1: UPPER[0], y2: LOWER[1] }, this.cursor);
      const says = this.series.map((s) => {
        const lo = s.at(i, 0), hi = s.at(i, 1), size = Math.max(Math.abs(lo), Math.abs(hi)) || 1;
        const digits = Math.max(0, Math.min(6, 2 - Math.floor(Math.log10(size))));
        return lo === hi ? lo.toFixed(digits) : `${lo.toFixed(digits)} … ${hi.toFixed(digits)}`;
      });
      this.figure.querySelector(".readout").textContent =
        `${this.recording.t[i].toFixed(3)} s: measured ${says[0]}, predicted ${says[1]}, residual ${says[2]} ${this.unit}`;
    }
    listen() {
      const place = (e) => ((e.clientX - this.svg.getBoundingClientRect().left) * this.width) / this.svg.clientWidth;
      let from = null, box = null;
      this.svg.addEventListener("pointerdown", (e) => { from = place(e); this.svg.setPointerCapture(e.pointerId); });
      this.svg.addEventListener("pointermove", (e) => {
        this.point(this.time(place(e)));
        if (from === null) return;
        const x = Math.min(from, place(e)), width = Math.abs(place(e) - from);
        if (!box || !box.parentNode) box = element("rect", { class: "span", y: UPPER[0], height: LOWER[1] - UPPER[0] }, this.svg);
        box.setAttribute("x", x); box.setAttribute("width", width);
      });
      this.svg.addEventListener("pointerup", (e) => {
        const to = place(e);
        if (from !== null && Math.abs(to - from) > 8) this.recording.show([this.time(Math.min(from, to)), this.time(Math.max(from, to))]);
        else if (box) box.remove();
        from = box = null;
      });
      this.svg.addEventListener("pointercancel", () => { if (box) box.remove(); from = box = null; });
      this.svg.addEventListener("pointerleave", () => { if (this.cursor) this.cursor.replaceChildren(); this.figure.querySelector(".readout").textContent = ""; });
      this.svg.addEventListener("dblclick", () => this.recording.zoom(0));
    }
  }

  const index = (t, value) => {  // the first place whose time is not less
    let lo = 0, hi = t.length;
    while (lo < hi) { const mid = (lo + hi) >> 1; if (t[mid] < value) lo = mid + 1; else hi = mid; }
    return lo;
  };

  class Recording {
    constructor(given, number) {
      this.k = given.k; this.t = new Float32Array(bytes(given.t));
      this.whole = this.view = [this.t[0], this.t[this.t.length - 1]];
      this.charts = [];
      for (const figure of document.querySelectorAll(`figure[data-recording="${number}"]`))
        this.charts.push(new Chart(figure, this, given.joints[+figure.dataset.joint]));
      for (const button of document.querySelectorAll(`button[data-recording="${number}"]`))
        button.addEventListener("click", () => this.act(button.dataset.zoom));
    }
    show([a, b]) {
      const least = 4 * (this.whole[1] - this.whole[0]) / Math.max(this.t.length, 1), middle = (a + b) / 2;
      if (b - a < least) [a, b] = [middle - least / 2, middle + least / 2];
      const span = Math.min(b - a, this.whole[1] - this.whole[0]);
      a = Math.min(Math.max(a, this.whole[0]), this.whole[1] - span);
      this.view = [a, a + span];
      this.draw();
    }
    zoom(factor) {
      if (!factor) return this.show(this.whole);
      const middle = (this.view[0] + this.view[1]) / 2, half = (this.view[1] - this.view[0]) * factor / 2;
      this.show([middle - half, middle + half]);
    }
    act(what) {
      const step = (this.view[1] - this.view[0]) / 2;
      if (what === "left") this.show([this.view[0] - step, this.view[1] - step]);
      else if (what === "right") this.show([this.view[0] + step, this.view[1] + step]);
      else this.zoom({ in: 0.5, out: 2, all: 0 }[what]);
    }
    draw() { for (const chart of this.charts) chart.draw(); }
  }

  const given = document.getElementById("data");
  const recordings = given ? JSON.parse(given.textContent).map((r, k) => new Recording(r, k)) : [];
  const draw = () => { for (const r of recordings) r.draw(); };
  draw();
  let width = root.clientWidth;
  addEventListener("resize", () => { if (root.clientWidth !== width) { width = root.clientWidth; draw(); } });

  const say = document.getElementById("say");
  for (const cell of document.querySelectorAll("td[data-say]"))
    for (const event of ["click", "mouseenter", "focus"]) cell.addEventListener(event, () => { say.textContent = cell.dataset.say; });

  addEventListener("beforeprint", () => { for (const d of document.querySelectorAll("details")) d.open = true; });
  root.dataset.ready = recordings.reduce((n, r) => n + r.charts.length, 0);
  root.dataset.ms = Math.round(performance.now());
  root.dataset.wide = `${root.scrollWidth}/${root.clientWidth}`;
})();
