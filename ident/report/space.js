"use strict";
// The robot in space: drag or press an arrow key to turn it, + and - to come closer, 0 for the first view.
(() => {
  const { element, watch } = SHARED;
  const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
  const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
  const unit = (a) => { const size = Math.hypot(...a); return a.map((x) => x / size); };
  // The corners of the outline of points (x, y), one after the other.
  const hull = (points) => {
    const sorted = [...points].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    const half = (order) => {
      const kept = [];
      for (const p of order) {
        const left = (a, b) => (b[0] - a[0]) * (p[1] - a[1]) - (b[1] - a[1]) * (p[0] - a[0]) <= 0;
        while (kept.length > 1 && left(kept[kept.length - 2], kept[kept.length - 1])) kept.pop();
        kept.push(p);
      }
      return kept.slice(0, -1);
    };
    return [...half(sorted), ...half(sorted.reverse())];
  };
  const HEIGHT = 380, TURN = 8, FIRST = [-55, 20, 1];  // azimuth and elevation of the eye [deg], zoom

  class Space {
    constructor(figure) {
      this.figure = figure; this.given = JSON.parse(figure.dataset.space); this.view = [...FIRST];
      const up = unit(this.given.up), aside = unit(cross(Math.abs(up[0]) < 0.9 ? [1, 0, 0] : [0, 1, 0], up));
      this.base = [cross(aside, up), aside, up];  // two level directions, and up
      const legend = figure.appendChild(document.createElement("p"));
      legend.className = "legend";
      const looks = [["identified", "body"], [this.given.second, "second"], ["links", "bone"], [this.given.shapes.length ? "shapes" : "", "shape"], ["x", "axis0"], ["y", "axis1"], ["z", "axis2"]];
      for (const [words, look] of looks.filter(([w]) => w)) {
        const key = legend.appendChild(document.createElement("span")), icon = element("svg", { viewBox: "0 0 18 10", "aria-hidden": "true" }, key);
        if (look === "shape") element("rect", { x: 1, y: 1, width: 16, height: 8, class: look }, icon);
        else if (look === "body" || look === "second") element("ellipse", { cx: 9, cy: 5, rx: 8, ry: 4, class: look }, icon);
        else element("line", { x1: 1, x2: 17, y1: 5, y2: 5, class: look }, icon);
        key.append(words);
      }
      const says = `${figure.dataset.description}. Arrow keys turn it, plus and minus zoom, 0 is the first view.`;
      this.svg = element("svg", { role: "img", "aria-label": says, tabindex: 0 }, figure);
      const bar = figure.appendChild(document.createElement("p"));
      bar.className = "tools";
      const buttons = [["←", "turn left", "ArrowLeft"], ["→", "turn right", "ArrowRight"], ["↑", "tip up", "ArrowUp"], ["↓", "tip down", "ArrowDown"], ["+", "closer", "+"], ["−", "farther", "-"], ["first view", "first view", "0"]];
      for (const [sign, words, key] of buttons) {
        const button = bar.appendChild(document.createElement("button"));
        Object.assign(button, { type: "button", textContent: sign, ariaLabel: words, title: words });
        button.addEventListener("click", () => this.act(key));
      }
      this.listen();
      this.draw();
    }
    points() {
      const found = [[0, 0, 0], ...this.given.frames.map((f) => f.map((row) => row[0]))];
      for (const b of this.given.bodies.filter((one) => one.kind === "identified")) found.push(b.centre);
      return found.concat(...this.given.shapes);
    }
    draw() {
      const { svg, given } = this, [azimuth, elevation, zoom] = this.view, a = (azimuth * Math.PI) / 180, e = (elevation * Math.PI) / 180;
      const [p, q, up] = this.base, mix = (x, y, z) => [0, 1, 2].map((k) => x * p[k] + y * q[k] + z * up[k]);
      const right = mix(-Math.sin(a), Math.cos(a), 0), high = mix(-Math.sin(e) * Math.cos(a), -Math.sin(e) * Math.sin(a), Math.cos(e));
      const eye = mix(Math.cos(e) * Math.cos(a), Math.cos(e) * Math.sin(a), Math.sin(e));
      const points = this.points(), middle = [0, 1, 2].map((k) => (Math.min(...points.map((x) => x[k])) + Math.max(...points.map((x) => x[k]))) / 2);
      const reach = 1.25 * Math.max(...points.map((x) => Math.hypot(...x.map((v, k) => v - middle[k])))) || 1;
      const width = Math.max(this.figure.clientWidth, 240), scale = (zoom * Math.min(width, HEIGHT)) / (2 * reach);
      const to = (x) => { const d = x.map((v, k) => v - middle[k]); return [width / 2 + scale * dot(d, right), HEIGHT / 2 - scale * dot(d, high)]; };
      svg.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
      svg.replaceChildren();
      const line = (x, y, look) => { const [x1, y1] = to(x), [x2, y2] = to(y); element("line", { x1, y1, x2, y2, class: look }, svg); };
      for (const shape of given.shapes) element("polygon", { points: hull(shape.map(to)).map((p) => p.join()).join(" "), class: "shape" }, svg);
      const behind = (b) => dot(b.centre, eye);
      for (const b of [...given.bodies].sort((x, y) => behind(x) - behind(y))) {
        const column = (k) => b.shape.map((row) => row[k]), along = (d) => [0, 1, 2].map((k) => dot(d, column(k)));
        const u = along(right), v = along(high), xx = dot(u, u), xy = dot(u, v), yy = dot(v, v);  // of the shadow
        const mean = (xx + yy) / 2, off = Math.hypot((xx - yy) / 2, xy), angle = (-0.5 * Math.atan2(2 * xy, xx - yy) * 180) / Math.PI;
        const [cx, cy] = to(b.centre), radii = { rx: scale * Math.sqrt(mean + off), ry: scale * Math.sqrt(Math.max(mean - off, 0)) };
        const body = element("ellipse", { cx, cy, ...radii, transform: `rotate(${angle} ${cx} ${cy})`, class: b.kind === "identified" ? "body" : "second" }, svg);
        element("title", {}, body, b.says);
      }
      for (const [x, y] of given.links) line(x, y, "bone");
      given.frames.forEach((f, i) => {
        const origin = f.map((row) => row[0]);
        for (let k = 0; k < 3; k++) line(origin, f.map((row) => row[0] + 0.12 * reach * row[k + 1]), `axis${k}`);
        const [x, y] = to(origin);
        element("circle", { cx: x, cy: y, r: 3, class: "joint" }, svg);
        element("title", {}, element("text", { x: x + 6, y: y - 6, class: "tick" }, svg, String(i + 1)), given.names[i]);
      });
      const length = 10 ** Math.floor(Math.log10(reach / zoom)), says = length >= 1 ? `${length} m` : `${Math.round(length * 1e3)} mm`;
      element("line", { x1: 12, x2: 12 + scale * length, y1: HEIGHT - 12, y2: HEIGHT - 12, class: "bone" }, svg);
      element("text", { x: 12, y: HEIGHT - 18, class: "tick" }, svg, says);
    }
    act(key) {
      const [a, e, z] = this.view, zoom = { "+": 1.25, "-": 0.8 }[key];
      const turned = { ArrowLeft: [a - TURN, e], ArrowRight: [a + TURN, e], ArrowUp: [a, e + TURN], ArrowDown: [a, e - TURN] }[key];
      if (turned) this.look(...turned, z);
      else if (zoom) this.look(a, e, z * zoom);
      else if (key === "0") this.look(...FIRST);
      else return false;
      return true;
    }
    look(azimuth, elevation, zoom) {
      this.view = [azimuth, Math.min(Math.max(elevation, -90), 90), Math.min(Math.max(zoom, 0.2), 20)];
      this.draw();
    }
    listen() {
      let from = null;
      this.svg.addEventListener("pointerdown", (e) => { from = [e.clientX, e.clientY]; this.svg.setPointerCapture(e.pointerId); });
      this.svg.addEventListener("pointermove", (e) => {
        if (!from) return;
        const [a, b, z] = this.view;
        this.look(a - 0.5 * (e.clientX - from[0]), b + 0.5 * (e.clientY - from[1]), z);
        from = [e.clientX, e.clientY];
      });
      for (const end of ["pointerup", "pointercancel"]) this.svg.addEventListener(end, () => { from = null; });
      this.svg.addEventListener("keydown", (e) => { if (this.act(e.key)) e.preventDefault(); });
    }
  }

  const spaces = [...document.querySelectorAll("figure[data-space]")].map((figure) => new Space(figure));
  watch(() => { for (const one of spaces) one.draw(); });
})();
