// SPDX-License-Identifier: GPL-3.0-or-later
// Lines, dots, bars and stacks of bars.
import { extent, lowerBound, type Data, type Values } from "./data";
import type { Axis, Series, XyFigure } from "./document";
import { type Surface } from "./draw";
import { seriesColour, type Theme } from "./palette";
import { Framed, type Box, type Cell, type Hit, type LegendEntry, type Move, type Range } from "./plot";
import { domain, showOn } from "./scale";

interface Points {
  series: Series;
  colour: number;
  x: Values;
  y: Values;
  low?: Values;
  high?: Values;
  runs?: Values;
  sorted: boolean; // by x
}

const many = 20000; // dots; above, they are counted per square of two pixels

async function open(series: Series, index: number, data: Data): Promise<Points> {
  const [x, y, low, high, runs] = await Promise.all([
    data.numbers(series.x), data.numbers(series.y), data.some(series.low), data.some(series.high), data.some(series.runs),
  ]);
  if (x.length !== y.length) throw new Error(`series ${series.name} has ${x.length} places and ${y.length} values`);
  let sorted = true;
  for (let i = 1; i < x.length && sorted; i++) sorted = x[i]! >= x[i - 1]!;
  return { series, colour: series.colour ?? index, x, y, sorted, ...(low && { low }), ...(high && { high }), ...(runs && { runs }) };
}

export class XyPlot extends Framed {
  readonly filtered: boolean;
  readonly head: string[];
  private known: { version: number; x: Range; y: Range } | null = null; // the domains under the filters
  private cursor: [number, number] | null = null;
  /** kind stack: where each bar begins; kind bars and stack: the places of bars, and how wide they are. */
  private bases: Float64Array[] = [];
  private barWidth = 0;

  private constructor(readonly figure: XyFigure, private readonly data: Data, readonly points: Points[]) {
    super();
    this.marks = figure.marks ?? [];
    this.filtered = points.some((p) => p.runs);
    this.head = ["series", axisHead(figure.x), axisHead(figure.y), "low", "high", "run", ...data.document.varied];
  }

  static async open(figure: XyFigure, data: Data): Promise<XyPlot> {
    return new XyPlot(figure, data, await Promise.all(figure.series.map((s, i) => open(s, i, data))));
  }

  protected axisX(): Axis {
    return this.figure.x;
  }
  protected axisY(): Axis {
    return this.figure.y;
  }
  private get bars(): boolean {
    return this.figure.kind === "bars" || this.figure.kind === "stack";
  }

  private visible(p: Points, i: number): boolean {
    return !p.runs || this.data.shown[p.runs[i]!] !== 0;
  }
  private some(p: Points): boolean {
    if (!p.runs) return p.x.length > 0;
    for (let i = 0; i < p.x.length; i++) if (this.visible(p, i)) return true;
    return false;
  }

  *rows(): Iterable<Cell[]> {
    for (const p of this.points)
      for (let i = 0; i < p.x.length; i++) {
        if (!this.visible(p, i)) continue;
        const run = this.data.run(p.runs?.[i]);
        const x = this.figure.x.categories?.[p.x[i]!] ?? p.x[i]!;
        const keys = this.data.document.varied.map((k) => run?.keys[k] ?? null);
        yield [p.series.name, x, p.y[i]!, p.low?.[i] ?? null, p.high?.[i] ?? null, run?.id ?? null, ...keys];
      }
  }

  legend(theme: Theme): LegendEntry[] {
    const shown = this.points.filter((p) => this.some(p));
    if (shown.length < 2 && this.points.length < 2 && !shown[0]?.series.dashed) return [];
    return shown.map((p) => ({ name: p.series.name, colour: seriesColour(theme, p.colour), dashed: p.series.dashed ?? false }));
  }

  domains(): { x: Range; y: Range } {
    if (this.known?.version !== this.data.version) this.known = { version: this.data.version, ...this.measure() };
    return this.known;
  }

  private measure(): { x: Range; y: Range } {
    this.stackUp();
    const xs: Range[] = [];
    const ys: Range[] = [];
    const logs = this.figure.y.scale === "log";
    const take = (range: Range, v: number | undefined) => {
      if (v === undefined || !Number.isFinite(v)) return;
      if (v < range[0]) range[0] = v;
      if (v > range[1]) range[1] = v;
    };
    const takeY = (range: Range, v: number | undefined) => v !== undefined && (!logs || v > 0) && take(range, v);
    this.points.forEach((p, s) => {
      const x: Range = [Infinity, -Infinity];
      const y: Range = [Infinity, -Infinity];
      for (let i = 0; i < p.x.length; i++) {
        if (!this.visible(p, i)) continue;
        take(x, p.x[i]);
        takeY(y, p.y[i]! + (this.bases[s]?.[i] ?? 0));
        if (p.low) takeY(y, p.low[i]);
        if (p.high) takeY(y, p.high[i]);
      }
      if (x[0] <= x[1]) xs.push(x);
      if (y[0] <= y[1]) ys.push(y);
    });
    if (ys.length) for (const m of this.marks) if (m.axis === "y" && (!logs || m.from > 0)) ys.push([m.from, m.to ?? m.from]);
    const y = extent(ys.flat());
    const zero = this.bars || (y !== null && (y[0] >= 0 ? y[0] < 0.6 * y[1] : y[1] <= 0));
    return { x: this.widen(domain(this.figure.x, extent(xs.flat()), false)), y: domain(this.figure.y, y, zero) };
  }

  /** Bars need room on both sides. */
  private widen(range: Range): Range {
    if (!this.bars || !["linear", "count", "time"].includes(this.figure.x.scale)) return range;
    const xs = [...new Set(this.points.flatMap((p) => (p.x.length < 5000 ? [...p.x] : [])))].sort((a, b) => a - b);
    let gap = Infinity;
    for (let i = 1; i < xs.length; i++) gap = Math.min(gap, xs[i]! - xs[i - 1]!);
    return Number.isFinite(gap) ? [Math.min(range[0], xs[0]! - gap / 2), Math.max(range[1], xs[xs.length - 1]! + gap / 2)] : range;
  }

  private stackUp(): void {
    this.bases = [];
    if (this.figure.kind !== "stack") return;
    const tops = new Map<number, number>();
    for (const p of this.points) {
      const bases = new Float64Array(p.x.length);
      for (let i = 0; i < p.x.length; i++) {
        const top = tops.get(p.x[i]!) ?? 0;
        bases[i] = top;
        if (this.visible(p, i) && Number.isFinite(p.y[i]!)) tops.set(p.x[i]!, top + p.y[i]!);
      }
      this.bases.push(bases);
    }
  }

  /** Where a point is drawn. */
  private place(s: number, i: number): [number, number] {
    const p = this.points[s]!;
    if (!this.visible(p, i)) return [NaN, NaN];
    const x = this.x.at(p.x[i]!);
    if (this.figure.kind === "stack") return [x, this.y.at(this.bases[s]![i]! + p.y[i]!)];
    const shift = this.figure.kind === "bars" ? (s - (this.points.length - 1) / 2) * this.barWidth : 0;
    return [x + shift, this.y.at(p.y[i]!)];
  }

  protected content(s: Surface, theme: Theme): void {
    if (this.bars) this.measureBars();
    this.points.forEach((p, index) => {
      const colour = seriesColour(theme, p.colour);
      s.group(p.series.name, () => {
        if (this.bars) this.drawBars(s, theme, index, colour);
        else {
          this.drawInterval(s, index, colour);
          if (this.figure.kind === "lines" || p.series.dashed) this.drawLine(s, index, colour);
          else this.drawDots(s, index, colour);
        }
      });
    });
  }

  /** The points of a series in sight, and one more at either side. */
  private window(p: Points): [number, number] {
    if (!p.sorted) return [0, p.x.length];
    const low = Math.min(this.x.from, this.x.to);
    const high = Math.max(this.x.from, this.x.to);
    return [Math.max(0, lowerBound(p.x, low) - 1), Math.min(p.x.length, lowerBound(p.x, high) + 2)];
  }

  private drawLine(s: Surface, index: number, colour: string): void {
    const p = this.points[index]!;
    const [first, last] = this.window(p);
    const width = this.box.right - this.box.left;
    const stroke = { colour, width: 1.75, ...(p.series.dashed && { dash: [6, 4] }) };
    const path: number[] = [];
    if (p.sorted && last - first > 4 * width) {
      s.line(this.perPixel(index, first, last), { ...stroke, width: 1 });
      return;
    }
    for (let i = first; i < last; i++) {
      if (!this.visible(p, i)) continue;
      path.push(...this.place(index, i));
    }
    s.line(path, stroke);
    if (this.figure.kind === "dots") return;
    // A gap on either side would hide a point altogether.
    const dots = path.length / 2 <= width / 25;
    for (let i = 0; i < path.length; i += 2) {
      const alone = !(path[i - 1]! > -Infinity) && !(path[i + 3]! > -Infinity);
      if ((dots || alone) && !Number.isNaN(path[i]! + path[i + 1]!)) s.circle(path[i]!, path[i + 1]!, 3, colour);
    }
  }

  /** First, least, greatest and last of each column of pixels. */
  private perPixel(index: number, first: number, last: number): number[] {
    const p = this.points[index]!;
    const path: number[] = [];
    let column = NaN;
    let [start, low, high, end] = [NaN, NaN, NaN, NaN];
    const flush = () => {
      if (!Number.isNaN(column)) path.push(column, start, column, low, column, high, column, end);
    };
    for (let i = first; i < last; i++) {
      if (!this.visible(p, i)) continue;
      const y = this.y.at(p.y[i]!);
      const x = Math.round(this.x.at(p.x[i]!));
      if (Number.isNaN(y)) continue;
      if (x !== column) {
        flush();
        column = x;
        start = low = high = y;
      }
      if (y < low) low = y;
      if (y > high) high = y;
      end = y;
    }
    flush();
    return path;
  }

  private drawDots(s: Surface, index: number, colour: string): void {
    const p = this.points[index]!;
    const [first, last] = this.window(p);
    if (last - first <= many) {
      const n = last - first;
      for (let i = first; i < last; i++) {
        const [x, y] = this.place(index, i);
        if (x + y > -Infinity) s.circle(x, y, n > 2000 ? 2 : 3, colour, n > 200 ? 0.55 : 0.85);
      }
    } else {
      const counts = new DotCounts(this.box);
      for (let i = first; i < last; i++) if (this.visible(p, i)) counts.add(this.x.at(p.x[i]!), this.y.at(p.y[i]!));
      counts.draw(s, colour);
    }
  }

  private drawInterval(s: Surface, index: number, colour: string): void {
    const p = this.points[index]!;
    if (!p.low || !p.high) return;
    const [first, last] = this.window(p);
    if (last - first > 60 && this.figure.kind === "lines") {
      const stride = Math.max(1, Math.floor((last - first) / (4 * (this.box.right - this.box.left))));
      let up: number[] = [];
      let down: number[] = [];
      for (let i = first; i < last; i += stride) {
        const [x] = this.place(index, i);
        const [a, b] = [this.y.at(p.low[i]!), this.y.at(p.high[i]!)];
        if (!Number.isNaN(x + a + b)) {
          up.push(x, b);
          down.push(a, x); // turned around below
        } else if (up.length) {
          s.area([...up, ...down.reverse()], colour, 0.18);
          [up, down] = [[], []];
        }
      }
      if (up.length) s.area([...up, ...down.reverse()], colour, 0.18);
    } else for (let i = first; i < last; i++) this.drawWhisker(s, index, i, colour);
  }

  private drawWhisker(s: Surface, index: number, i: number, colour: string): void {
    const p = this.points[index]!;
    const base = this.bases[index]?.[i] ?? 0;
    const [x] = this.place(index, i);
    const a = this.y.at((p.low?.[i] ?? NaN) + base);
    const b = this.y.at((p.high?.[i] ?? NaN) + base);
    if (Number.isNaN(x + a + b)) return;
    s.line([x, a, x, b, NaN, NaN, x - 4, a, x + 4, a, NaN, NaN, x - 4, b, x + 4, b], { colour, width: 1.25, opacity: 0.8 });
  }

  private measureBars(): void {
    const width = this.box.right - this.box.left;
    const xs = new Float64Array(this.points.reduce((n, p) => n + p.x.length, 0));
    let n = 0;
    for (const p of this.points) for (const v of p.x) xs[n++] = this.x.at(v);
    xs.sort();
    let gap = width / 2;
    for (let i = 1; i < n; i++) if (xs[i]! - xs[i - 1]! > 0.01) gap = Math.min(gap, xs[i]! - xs[i - 1]!);
    const side = this.figure.kind === "bars" ? this.points.length : 1;
    this.barWidth = Math.max(0.5, Math.min(90, gap * 0.8) / side);
  }

  private drawBars(s: Surface, theme: Theme, index: number, colour: string): void {
    const p = this.points[index]!;
    const zero = this.figure.y.scale === "log" ? this.box.bottom : this.y.at(0);
    const w = Math.max(1, this.barWidth * (this.points.length > 1 && this.figure.kind === "bars" ? 0.92 : 1));
    let column = NaN;
    let best = NaN;
    for (let i = 0; i < p.x.length; i++) {
      const [x, y] = this.place(index, i);
      if (!(x + y > -Infinity) || x < this.box.left - w || x > this.box.right + w) continue;
      // Bars below a pixel: of those in one column the tallest.
      if (this.barWidth < 1 && Math.round(x) === column && Math.abs(y - zero) <= best) continue;
      column = Math.round(x);
      best = Math.abs(y - zero);
      const base = this.figure.kind === "stack" ? this.y.at(this.bases[index]![i]!) : zero;
      s.rect(x - w / 2, Math.min(base, y), w, Math.abs(base - y), colour, p.series.dashed ? 0.45 : 1);
    }
    if (this.barWidth > 3) for (let i = 0; i < p.x.length; i++) this.drawWhisker(s, index, i, theme.text);
  }

  private hit(s: number, i: number): Hit {
    const p = this.points[s]!;
    const [x, y] = this.place(s, i);
    const { figure } = this;
    const between = p.low && p.high ? ` [${showOn(figure.y, p.low[i])}, ${showOn(figure.y, p.high[i])}]` : "";
    const lines = [
      p.series.name,
      `${figure.x.label || "x"}: ${showOn(figure.x, p.x[i])}`,
      `${figure.y.label || "y"}: ${showOn(figure.y, p.y[i])}${between}`,
      ...this.data.runLines(p.runs?.[i]),
    ];
    if (p.series.text) lines.push(p.series.text);
    return { x, y, lines };
  }

  near(x: number, y: number): Hit | null {
    let best = Infinity;
    let found: [number, number] | null = null;
    this.points.forEach((p, s) => {
      const [first, last] = this.window(p);
      for (let i = first; i < last; i++) {
        if (p.x.length > many && Math.abs(this.x.at(p.x[i]!) - x) > 30) continue;
        const [px, py] = this.place(s, i);
        const distance = (px - x) ** 2 + (py - y) ** 2 / (this.bars ? 16 : 4);
        if (distance < best && px >= this.box.left - 2 && px <= this.box.right + 2) {
          best = distance;
          found = [s, i];
        }
      }
    });
    this.cursor = found ?? this.cursor;
    return found ? this.hit(found[0], found[1]) : null;
  }

  move(direction: Move): Hit | null {
    const drawn = (s: number, i: number) => {
      const [x, y] = this.place(s, i);
      return x + y > -Infinity;
    };
    const step = direction === "left" || direction === "last" ? -1 : 1;
    let [s, i] = this.cursor ?? [0, -1];
    if (direction === "first") i = -1;
    if (direction === "last") i = this.points[s]?.x.length ?? 0;
    if (direction === "up" || direction === "down") {
      const x = this.points[s]?.x[Math.max(0, i)] ?? 0;
      for (let n = 0; n < this.points.length; n++) {
        s = (s + (direction === "up" ? this.points.length - 1 : 1)) % this.points.length;
        const p = this.points[s]!;
        i = p.sorted ? Math.max(0, Math.min(p.x.length - 1, lowerBound(p.x, x))) : 0;
        if (drawn(s, i)) break;
      }
    } else {
      const n = this.points[s]?.x.length ?? 0;
      do i += step;
      while (i >= 0 && i < n && !drawn(s, i));
    }
    if (!this.points[s] || !drawn(s, i)) return null;
    this.cursor = [s, i];
    return this.hit(s, i);
  }

  summary(): string {
    const parts = this.points.slice(0, 6).map((p) => {
      const seen = p.runs ? p.y.filter((_, i) => this.visible(p, i)) : p.y;
      const range = extent(seen);
      const n = `${p.series.name}: ${seen.length} ${seen.length === 1 ? "point" : "points"}`;
      return range ? `${n}, ${showOn(this.figure.y, range[0])} to ${showOn(this.figure.y, range[1])}` : `${n}, no values`;
    });
    if (this.points.length > 6) parts.push(`and ${this.points.length - 6} more series`);
    return `${this.figure.y.label} over ${this.figure.x.label}. ${parts.join("; ")}.`;
  }
}

export function axisHead(axis: Axis): string {
  return axis.unit && axis.unit !== "1" ? `${axis.label} (${axis.unit})` : axis.label;
}

/** Dots counted per square of two pixels: the more there are, the darker it is. */
export class DotCounts {
  private readonly columns: number;
  private readonly rows: number;
  private readonly counts: Uint16Array;

  constructor(private readonly box: Box) {
    this.columns = Math.ceil((box.right - box.left) / 2) + 1;
    this.rows = Math.ceil((box.bottom - box.top) / 2) + 1;
    this.counts = new Uint16Array(this.columns * this.rows);
  }

  add(x: number, y: number): void {
    const { left, right, top, bottom } = this.box;
    if (!(x >= left && x <= right && y >= top && y <= bottom)) return;
    const at = ((y - top) >> 1) * this.columns + ((x - left) >> 1);
    if (this.counts[at]! < 65535) this.counts[at]!++;
  }

  draw(s: Surface, colour: string): void {
    const rgba = new Uint8ClampedArray(this.counts.length * 4);
    const [r, g, b] = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
    this.counts.forEach((n, at) => {
      if (n) rgba.set([r!, g!, b!, 255 * Math.min(1, 0.3 + 0.1 * Math.log2(n))], at * 4);
    });
    s.image(this.box.left, this.box.top, 2 * this.columns, 2 * this.rows, this.columns, this.rows, rgba);
  }
}
