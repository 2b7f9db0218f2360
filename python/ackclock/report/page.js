
"use strict";
// Draws the figures of the page: uPlot does axes, cursor and zoom, and what lies between the axes is drawn here, layer by layer.
(() => {
  const TYPES = { u1: Uint8Array, u4: Uint32Array, f8: Float64Array };
  const HEIGHT = { sequence: 420, other: 300 };
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();

  function numbers(given) {
    const text = atob(given.data);
    const bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
    return new TYPES[given.type](bytes.buffer);
  }

  // The first place in sorted `x` that is not below `value`.
  function lower(x, value) {
    let low = 0, high = x.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (x[middle] < value) low = middle + 1; else high = middle;
    }
    return low;
  }

  function seconds(v) {
    const a = Math.abs(v);
    return a >= 1 || a === 0 ? +v.toPrecision(6) + " s" : a >= 1e-3 ? +(v * 1e3).toPrecision(4) + " ms" : +(v * 1e6).toPrecision(4) + " µs";
  }
  const amount = (v, unit) => unit === "s" ? seconds(v) : Math.round(v).toLocaleString("en") + " B";

  function mark(ctx, shape, x, y, r, hollow) {
    ctx.beginPath();
    switch (shape) {
      case "cross": ctx.moveTo(x - r, y - r); ctx.lineTo(x + r, y + r); ctx.moveTo(x - r, y + r); ctx.lineTo(x + r, y - r); break;
      case "plus": ctx.moveTo(x - r, y); ctx.lineTo(x + r, y); ctx.moveTo(x, y - r); ctx.lineTo(x, y + r); break;
      case "up": ctx.moveTo(x, y - r); ctx.lineTo(x + r, y + r); ctx.lineTo(x - r, y + r); ctx.closePath(); break;
      case "down": ctx.moveTo(x, y + r); ctx.lineTo(x + r, y - r); ctx.lineTo(x - r, y - r); ctx.closePath(); break;
      case "square": ctx.rect(x - r, y - r, 2 * r, 2 * r); break;
      case "diamond": ctx.moveTo(x, y - r); ctx.lineTo(x + r, y); ctx.lineTo(x, y + r); ctx.lineTo(x - r, y); ctx.closePath(); break;
      default: ctx.arc(x, y, r, 0, 7);
    }
    if (shape === "cross" || shape === "plus") {
      // Open shapes cannot be hollow: a ring around them shows that the retransmission was spurious.
      if (hollow) { ctx.moveTo(x + 1.7 * r, y); ctx.arc(x, y, 1.7 * r, 0, 7); }
    } else if (!hollow) ctx.fill();
    ctx.stroke();
  }

  class Layer {
    constructor(given) {
      Object.assign(this, given);
      this.a = Object.fromEntries(Object.entries(given.arrays).map(([name, v]) => [name, numbers(v)]));
      this.shown = true;
      this.x = this.a.x;
      this.low = this.a.low || this.a.y;
      this.high = this.a.high || this.a.y;
    }

    // Places of what may be seen between two moments; stairs begin one step before, waits where they end later.
    range(from, to) {
      const first = lower(this.x, from);
      if (this.shape === "waits") return [first, this.x.length];
      return [this.shape === "stairs" ? Math.max(first - 1, 0) : first, lower(this.x, to) + (this.shape === "stairs" ? 1 : 0)];
    }

    extent(from, to, bounds) {
      const [first, last] = this.range(from, to);
      for (let i = first; i < Math.min(last, this.x.length); i++) {
        if ((this.shape === "waits" ? this.a.from[i] : this.x[i]) > to) continue;
        if (this.low[i] < bounds[0]) bounds[0] = this.low[i];
        if (this.high[i] > bounds[1]) bounds[1] = this.high[i];
      }
    }

    draw(u, ctx, ratio) {
      const from = u.scales.x.min, to = u.scales.x.max;
      const [first, end] = this.range(from, to);
      const last = Math.min(end, this.x.length);
      const px = (v) => u.valToPos(v, "x", true), py = (v) => u.valToPos(v, "y", true);
      const ink = colour(this.colour);
      ctx.strokeStyle = ctx.fillStyle = ink;
      ctx.lineWidth = ratio * 1.3;
      switch (this.shape) {
        case "bars": return this.bars(ctx, px, py, first, last, ratio);
        case "stairs": return this.stairs(ctx, px, py, first, last, ratio);
        case "dots": return this.dots(ctx, px, py, first, last, ratio);
        case "waits": return this.waits(ctx, px, py, first, last, ratio, to);
        default: return this.marks(ctx, px, py, first, last, ratio);
      }
    }

    bars(ctx, px, py, first, last, ratio) {
      const { low, high } = this, width = (this.thick ? 2 : 1.2) * ratio, least = (this.thick ? 2 : 1) * ratio;
      ctx.globalAlpha = this.thick ? 1 : 0.6;
      let at = NaN, bottom = NaN, top = NaN;
      // Bars that touch in one column of pixels are one rectangle.
      const flush = () => { if (top === top) ctx.fillRect(at - width / 2, top, width, Math.max(bottom - top, least)); };
      for (let i = first; i < last; i++) {
        const x = Math.round(px(this.x[i])), b = py(low[i]), t = py(high[i]);
        if (x === at && t <= bottom + 1 && b >= top - 1) {
          bottom = Math.max(bottom, b);
          top = Math.min(top, t);
          continue;
        }
        flush();
        at = x; bottom = b; top = t;
      }
      flush();
      ctx.globalAlpha = 1;
    }

    stairs(ctx, px, py, first, last, ratio) {
      const y = this.a.y;
      if (first >= last) return;
      ctx.lineWidth = 1.5 * ratio;
      ctx.setLineDash((this.dash || []).map((d) => d * ratio));
      ctx.beginPath();
      let column = Math.round(px(this.x[first])), height = py(y[first]), least = height, most = height;
      ctx.moveTo(column, height);
      for (let i = first + 1; i < last; i++) {
        const x = Math.round(px(this.x[i])), h = py(y[i]);
        if (x !== column) {
          // All of one column is a stroke from its least to its largest, and goes on at the last height.
          if (least !== most) { ctx.lineTo(column, least); ctx.lineTo(column, most); ctx.lineTo(column, height); }
          ctx.lineTo(x, height);
          ctx.lineTo(x, h);
          column = x; least = most = h;
        } else { least = Math.min(least, h); most = Math.max(most, h); }
        height = h;
      }
      if (least !== most) { ctx.lineTo(column, least); ctx.lineTo(column, most); }
      ctx.stroke();
      ctx.setLineDash([]);
    }

    dots(ctx, px, py, first, last, ratio) {
      const size = (last - first > 2000 ? 1.5 : 3) * ratio;
      let px0 = NaN, py0 = NaN;
      for (let i = first; i < last; i++) {
        const x = Math.round(px(this.x[i])), y = Math.round(py(this.a.y[i]));
        if (x === px0 && y === py0) continue;
        ctx.fillRect(x - size / 2, y - size / 2, size, size);
        px0 = x; py0 = y;
      }
    }

    marks(ctx, px, py, first, last, ratio) {
      ctx.lineWidth = 1.6 * ratio;
      let px0 = NaN, py0 = NaN;
      for (let i = first; i < last; i++) {
        const x = Math.round(px(this.x[i])), y = Math.round(py(this.a.y[i]));
        if (x === px0 && y === py0) continue;
        mark(ctx, this.mark, x, y, 4 * ratio, this.a.hollow && this.a.hollow[i]);
        px0 = x; py0 = y;
      }
    }

    waits(ctx, px, py, first, last, ratio, to) {
      ctx.lineWidth = 2 * ratio;
      ctx.beginPath();
      for (let i = first; i < last; i++) {
        if (this.a.from[i] > to) continue;
        const y = py(this.a.y[i]);
        ctx.moveTo(px(this.a.from[i]), y);
        ctx.lineTo(px(this.x[i]), y);
      }
      ctx.stroke();
    }

    // The nearest item to a place, in pixels, and what there is to say of it.
    nearest(u, left, top, reach) {
      const from = u.posToVal(left - reach, "x"), to = u.posToVal(left + reach, "x");
      let best = null;
      const look = (i, x, y) => {
        const distance = Math.hypot(u.valToPos(x, "x") - left, u.valToPos(y, "y") - top);
        if (distance <= reach && (!best || distance < best.distance)) best = { distance, i, layer: this };
      };
      const here = u.posToVal(top, "y");
      if (this.shape === "waits") {
        const x = u.posToVal(left, "x");
        for (let i = 0; i < this.x.length; i++) if (this.a.from[i] <= x && x <= this.x[i]) look(i, x, this.a.y[i]);
        return best;
      }
      if (this.shape === "stairs") {
        const x = u.posToVal(left, "x"), i = lower(this.x, x) - 1;
        if (i >= 0) look(i, x, this.a.y[i]);
        return best;
      }
      const first = lower(this.x, from), last = lower(this.x, to);
      for (let i = first; i < Math.min(last, first + 20000); i++) look(i, this.x[i], Math.min(Math.max(here, this.low[i]), this.high[i]));
      return best;
    }

    words(i, unit) {
      const name = this.label.replace(/ \([\d,]+\)$/, "");
      const at = "\n" + seconds(this.x[i]);
      if (this.shape === "bars") return name + ": " + amount(this.low[i], unit) + " to " + amount(this.high[i], unit) + at;
      if (this.notes.length) return this.notes[i] + at + (this.shape === "waits" ? "" : ", " + amount(this.a.y[i], unit));
      return name + ": " + amount(this.a.y[i], unit) + at;
    }
  }

  class Figure {
    constructor(group, given, whole) {
      this.group = group;
      this.unit = given.unit;
      this.log = given.log;
      this.whole = whole;
      this.box = document.getElementById(given.id);
      this.layers = given.layers.map((l) => new Layer(l));
      this.tip = document.createElement("div");
      this.tip.className = "tip";
      this.tip.hidden = true;
      this.legend(document.getElementById(given.id + "-legend"));
      this.plot(given);
      this.box.append(this.tip);
      this.box.addEventListener("keydown", (e) => {
        const what = { "+": "in", "=": "in", "-": "out", ArrowLeft: "left", ArrowRight: "right", 0: "all" }[e.key];
        if (what && !e.ctrlKey && !e.metaKey && !e.altKey) { this.group.zoom(what); e.preventDefault(); }
      });
    }

    size() {
      const tall = this.box.id.endsWith("-sequence") ? HEIGHT.sequence : HEIGHT.other;
      return { width: Math.max(this.box.clientWidth, 200), height: this.box.clientWidth < 600 ? Math.round(tall * 0.8) : tall };
    }

    plot(given) {
      const axis = { stroke: () => colour("fg"), grid: { stroke: () => colour("line"), width: 1 }, ticks: { stroke: () => colour("line") }, font: "12px system-ui, sans-serif" };
      const big = (v) => Math.abs(v) >= 1e9 ? +(v / 1e9).toPrecision(6) + " G" : Math.abs(v) >= 1e6 ? +(v / 1e6).toPrecision(6) + " M"
        : Math.abs(v) >= 1e3 ? +(v / 1e3).toPrecision(6) + " k" : String(+v.toPrecision(6));
      const label = (v) => v === null ? null : this.unit === "B" ? big(v) : String(+v.toPrecision(3));
      this.u = new uPlot({
        ...this.size(),
        legend: { show: false },
        cursor: { points: { show: false }, drag: { x: true, y: false, dist: 4 }, sync: { key: this.group.key } },
        scales: { x: { time: false, range: (u, min, max) => [min, max] }, y: { distr: this.log ? 3 : 1, range: () => this.heights() } },
        axes: [
          { ...axis, label: "time (s)", size: 32, labelSize: 20, labelFont: axis.font, values: (u, values) => values.map((v) => String(+v.toPrecision(9))) },
          { ...axis, label: given.y, size: 62, labelSize: 20, labelFont: axis.font, values: (u, values) => values.map(label) },
        ],
        series: [{}, { show: true, paths: () => null, points: { show: false } }],
        hooks: {
          draw: [(u) => this.draw(u)],
          setScale: [(u, key) => { if (key === "x") this.group.follow(this, u.scales.x.min, u.scales.x.max); }],
          setCursor: [(u) => this.hover(u)],
        },
      }, [this.whole.slice(), [1, 1]], this.box);
      // A double click shows all again, whatever uPlot takes for all.
      this.u.over.addEventListener("dblclick", () => this.group.set(...this.whole));
      this.u.over.addEventListener("mouseleave", () => { this.tip.hidden = true; });
    }

    heights() {
      const u = this.u, bounds = [Infinity, -Infinity];
      const [from, to] = this.group.span;
      // The receiver's window may lie far above: it counts where nothing else is to be seen.
      for (const fits of [true, false]) {
        if (bounds[0] > bounds[1] || fits) for (const l of this.layers) if (l.shown && (l.fits !== false) === fits) l.extent(from, to, bounds);
      }
      if (!(bounds[0] <= bounds[1])) return this.log ? [0.001, 1] : [0, 1];
      if (this.log) return [Math.max(bounds[0], 1e-7) / 1.4, Math.max(bounds[1], 1e-6) * 1.4];
      const all = from <= this.whole[0] && to >= this.whole[1];
      const low = all || this.unit === "s" || !this.box.id.endsWith("-sequence") ? 0 : bounds[0];
      const room = 0.05 * (bounds[1] - low) || 1;
      return [low === 0 ? 0 : low - room, bounds[1] + room];
    }

    draw(u) {
      const ctx = u.ctx, { left, top, width, height } = u.bbox;
      ctx.save();
      ctx.beginPath();
      ctx.rect(left, top, width, height);
      ctx.clip();
      for (const l of this.layers) if (l.shown) l.draw(u, ctx, uPlot.pxRatio);
      ctx.restore();
    }

    hover(u) {
      const { left, top } = u.cursor;
      // Cursors follow each other across figures; only the one under the pointer speaks.
      if (left == null || left < 0 || !u.over.matches(":hover")) { this.tip.hidden = true; return; }
      let best = null;
      for (const l of this.layers) {
        const found = l.shown && l.nearest(u, left, top, 12);
        // Marks lie above bars, and bars above lines.
        const weight = (f) => f.distance - (f.layer.shape === "marks" ? 8 : f.layer.shape === "stairs" ? -4 : 0);
        if (found && (!best || weight(found) < weight(best))) best = found;
      }
      this.tip.hidden = !best;
      if (!best) return;
      this.tip.textContent = best.layer.words(best.i, this.unit);
      const right = left > u.over.clientWidth / 2;
      this.tip.style.left = right ? "" : u.over.offsetLeft + left + 14 + "px";
      this.tip.style.right = right ? this.box.clientWidth - u.over.offsetLeft - left + 14 + "px" : "";
      this.tip.style.top = u.over.offsetTop + Math.min(top + 10, u.over.clientHeight - 60) + "px";
    }

    legend(where) {
      this.keys = this.layers.map((layer) => {
        const button = document.createElement("button");
        button.type = "button";
        button.setAttribute("aria-pressed", "true");
        const sign = document.createElement("canvas");
        sign.width = sign.height = 32;
        sign.setAttribute("aria-hidden", "true");
        const text = document.createElement("span");
        text.textContent = layer.label;
        button.append(sign, text);
        button.addEventListener("click", () => {
          layer.shown = !layer.shown;
          button.setAttribute("aria-pressed", String(layer.shown));
          this.again();
        });
        where.append(button);
        return () => {
          const ctx = sign.getContext("2d");
          ctx.clearRect(0, 0, 32, 32);
          ctx.strokeStyle = ctx.fillStyle = colour(layer.colour);
          ctx.lineWidth = 3;
          if (layer.shape === "marks") mark(ctx, layer.mark, 16, 16, 8, false);
          else if (layer.shape === "bars") ctx.fillRect(14, 4, 4, 24);
          else if (layer.shape === "dots") mark(ctx, "circle", 16, 16, 4, false);
          else {
            ctx.lineWidth = 4;
            ctx.setLineDash((layer.dash || []).map((d) => d * 1.6));
            ctx.beginPath();
            ctx.moveTo(0, 16);
            ctx.lineTo(32, 16);
            ctx.stroke();
            ctx.setLineDash([]);
          }
        };
      });
      this.keys.forEach((paint) => paint());
    }

    again() { this.u.setScale("x", { min: this.group.span[0], max: this.group.span[1] }); }

    repaint() { this.keys.forEach((paint) => paint()); this.u.redraw(false, true); }
  }

  // The figures of one direction, which show the same time.
  class Group {
    constructor(element) {
      const given = JSON.parse(document.getElementById(element.dataset.plots).textContent);
      this.key = element.dataset.plots;
      const margin = 0.01 * given.last || 0.001;
      this.whole = [-margin, given.last + margin];
      this.span = this.whole.slice();
      this.figures = [];
      for (const f of given.figures) this.figures.push(new Figure(this, f, this.whole));
      for (const button of element.querySelectorAll("[data-do]")) button.addEventListener("click", () => this.zoom(button.dataset.do));
      this.following = false;
    }

    follow(which, min, max) {
      if (this.following || (this.span[0] === min && this.span[1] === max)) return;
      this.set(min, max);
    }

    set(min, max) {
      this.following = true;
      this.span = [min, max];
      for (const f of this.figures) f.u.setScale("x", { min, max });
      // Scales are set at the end of the turn: only then may figures follow each other again.
      queueMicrotask(() => queueMicrotask(() => { this.following = false; }));
    }

    zoom(what) {
      const [from, to] = this.span, width = to - from, middle = (from + to) / 2;
      const [least, most] = this.whole;
      let min = from, max = to;
      if (what === "in") [min, max] = [middle - width / 4, middle + width / 4];
      if (what === "out") [min, max] = [middle - width, middle + width];
      if (what === "left") [min, max] = [from - width / 4, to - width / 4];
      if (what === "right") [min, max] = [from + width / 4, to + width / 4];
      if (what === "all") [min, max] = [least, most];
      // Never beyond the ends, never below a microsecond.
      if (max - min < 1e-6) return;
      if (min < least) [min, max] = [least, Math.min(least + (max - min), most)];
      if (max > most) [min, max] = [Math.max(most - (max - min), least), most];
      this.set(min, max);
    }
  }

  const groups = [];
  function begin(element) {
    if (element.dataset.begun) return;
    element.dataset.begun = "yes";
    groups.push(new Group(element));
  }
  const elements = [...document.querySelectorAll(".plots")];
  // Figures are made when they come near: a page may hold many.
  const watch = new IntersectionObserver((seen) => seen.forEach((e) => e.isIntersecting && begin(e.target)), { rootMargin: "600px" });
  // What is in view at once does not wait for a frame, which a window behind others gets late.
  const inView = (e) => e.offsetParent && e.getBoundingClientRect().top < innerHeight;
  elements.forEach((e) => (inView(e) ? begin(e) : watch.observe(e)));
  window.addEventListener("beforeprint", () => elements.forEach((e) => e.offsetParent && begin(e)));
  let waiting = 0;
  window.addEventListener("resize", () => {
    cancelAnimationFrame(waiting);
    waiting = requestAnimationFrame(() => groups.forEach((g) => g.figures.forEach((f) => f.u.setSize(f.size()))));
  });
  dark.addEventListener("change", () => groups.forEach((g) => g.figures.forEach((f) => f.repaint())));
})();
