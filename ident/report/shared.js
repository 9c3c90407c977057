"use strict";
// What the scripts of the page share: numbers and their scales, elements, when to draw again. Tells the page's state in
// attributes of <html>: data-errors (script errors).
const SHARED = (() => {
  const root = document.documentElement;
  const failed = (what) => { root.dataset.errors = (root.dataset.errors || "") + what + "; "; };
  addEventListener("error", (e) => failed(e.message));
  addEventListener("unhandledrejection", (e) => failed(String(e.reason)));

  // ---- numbers and their scales ------------------------------------------------------------------------------------
  const raised = (k) => String(k).replace("-", "⁻").replace(/\d/g, (d) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[d]);
  const minus = (text) => String(text).replace("-", "−");
  const rounded = (x) => (isNaN(x) ? "n/a" : minus(Math.abs(x) >= 1e5 || (x && Math.abs(x) < 1e-4) ? x.toExponential(2) : +x.toPrecision(4)));
  const nice = (raw) => {
    const power = 10 ** Math.floor(Math.log10(raw)), x = raw / power;
    return (x <= 1 ? 1 : x <= 2 ? 2 : x <= 5 ? 5 : 10) * power;
  };
  const warped = ({ scale, edge = 1 }) => {
    if (scale === "log") return [Math.log10, (u) => 10 ** u];
    if (scale !== "symlog") return [(v) => v, (u) => u];
    const f = (v) => (Math.abs(v) <= edge ? v / edge : Math.sign(v) * (1 + Math.log10(Math.abs(v) / edge)));
    return [f, (u) => (Math.abs(u) <= 1 ? u * edge : Math.sign(u) * edge * 10 ** (Math.abs(u) - 1))];
  };
  const scaled = (axis, [lo, hi], a, b) => {  // value -> pixel, and `back`
    const [f, g] = warped(axis), u = f(lo), per = (b - a) / (f(hi) - u);
    const to = (v) => a + (f(v) - u) * per;
    to.back = (p) => g(u + (p - a) / per);
    return to;
  };
  const ticks = (axis, [lo, hi], most) => {  // [value, text] of each, and the power of ten that the texts leave out
    const inside = (v) => v >= Math.min(lo, hi) && v <= Math.max(lo, hi);
    if (axis.ticks) return [axis.ticks.filter(([v]) => inside(v)), 0];
    if (axis.scale === "log") {
      const a = Math.ceil(Math.log10(lo) - 1e-9), b = Math.floor(Math.log10(hi) + 1e-9), step = Math.max(1, Math.ceil((b - a) / most));
      const whole = [];
      for (let k = a; k <= b; k += step) for (const m of b - a < 2 ? [1, 2, 5] : [1]) whole.push([m * 10 ** k, m > 1 ? rounded(m * 10 ** k) : `10${raised(k)}`]);
      return [whole.filter(([v]) => inside(v)), 0];
    }
    let step = nice((hi - lo) / most);
    if (Math.floor(hi / step) - Math.ceil(lo / step) < Math.min(2, Math.floor(most) - 1)) step = nice(step / 2.5);  // too few tell no scale
    const big = Math.max(Math.abs(lo), Math.abs(hi));
    const power = big < 0.01 || big >= 1e4 ? 3 * Math.floor(Math.log10(big) / 3) : 0, unit = 10 ** power, found = [];
    const digits = Math.max(0, Math.min(9, -Math.floor(Math.log10(step / unit) + 1e-9)));
    for (let k = Math.ceil(lo / step); k * step <= hi; k++) found.push([k * step, minus((k ? (k * step) / unit : 0).toFixed(digits))]);
    return [found, power];
  };
  const words = (axis, power = 0) => {
    const unit = [power ? `10${raised(power)}` : "", axis.unit || ""].filter(Boolean).join(" ");
    return unit ? `${axis.label} [${unit}]` : axis.label;
  };
  const index = (x, value) => {  // the first place whose number is not less
    let lo = 0, hi = x.length;
    while (lo < hi) { const mid = (lo + hi) >> 1; if (x[mid] < value) lo = mid + 1; else hi = mid; }
    return lo;
  };

  // ---- elements ----------------------------------------------------------------------------------------------------
  const element = (name, attributes, parent, text) => {
    const e = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const k in attributes) e.setAttribute(k, attributes[k]);
    if (text !== undefined) e.textContent = text;
    parent.appendChild(e);
    return e;
  };
  const watch = (draw) => {  // draws again when the window has another width
    let width = root.clientWidth;
    addEventListener("resize", () => { if (root.clientWidth !== width) { width = root.clientWidth; draw(); } });
  };
  return { root, rounded, warped, scaled, ticks, words, index, element, watch };
})();
