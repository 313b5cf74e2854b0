// SPDX-License-Identifier: GPL-3.0-or-later
// Every sample as a dot, per group, inside its density, with the median and its interval.
import { extent, lowerBound, median, type Data, type Values } from "./data";
import type { Axis, SamplesFigure } from "./document";
import type { Surface } from "./draw";
import { seriesColour, type Theme } from "./palette";
import { Framed, type Cell, type Hit, type LegendEntry, type Move, type Range } from "./plot";
import { domain, showOn } from "./scale";
import { axisHead, DotCounts } from "./xy";

const many = 5000; // samples of a group; above, dots are counted per square of two pixels

interface Group {
  of: SamplesFigure["groups"][number];
  y: Values;
  runs?: Values;
  density?: { y: Values; weight: Values };
}

/** A number in -1 .. 1 that looks random and is always the same. */
function jitter(i: number): number {
  const h = Math.imul(i + 1, 0x9e3779b1) >>> 0;
  return (Math.imul(h ^ (h >>> 15), 0x85ebca6b) >>> 0) / 2 ** 31 - 1;
}

export class SamplesPlot extends Framed {
  readonly filtered: boolean;
  readonly head: string[];
  private known: { version: number; x: Range; y: Range } | null = null; // the domains under the filters
  private cursor: [number, number] = [0, -1];
  private readonly names: Axis;

  private constructor(private readonly figure: SamplesFigure, private readonly data: Data, private readonly groups: Group[]) {
    super();
    this.filtered = groups.some((g) => g.runs);
    this.names = { label: "", unit: "", scale: "category", categories: groups.map((g) => g.of.name) };
    this.head = ["group", axisHead(figure.y), "run", ...data.document.varied];
  }

  static async open(figure: SamplesFigure, data: Data): Promise<SamplesPlot> {
    const groups = figure.groups.map(async (of): Promise<Group> => {
      const runs = await data.some(of.runs);
      const density = of.density && { y: await data.numbers(of.density.y), weight: await data.numbers(of.density.weight) };
      return { of, y: await data.numbers(of.y), ...(runs && { runs }), ...(density && { density }) };
    });
    return new SamplesPlot(figure, data, await Promise.all(groups));
  }

  protected axisX(): Axis {
    return this.names;
  }
  protected axisY(): Axis {
    return this.figure.y;
  }
  legend(): LegendEntry[] {
    return [];
  }

  private visible(g: Group, i: number): boolean {
    return !g.runs || this.data.shown[g.runs[i]!] !== 0;
  }
  /** Whether filters have taken nothing from a group: only then do its density and its interval speak of what is seen. */
  private whole(g: Group): boolean {
    return !g.runs || g.runs.every((run) => this.data.shown[run] !== 0);
  }

  *rows(): Iterable<Cell[]> {
    for (const g of this.groups)
      for (let i = 0; i < g.y.length; i++) {
        if (!this.visible(g, i)) continue;
        const run = this.data.run(g.runs?.[i]);
        yield [g.of.name, g.y[i]!, run?.id ?? null, ...this.data.document.varied.map((k) => run?.keys[k] ?? null)];
      }
  }

  domains(): { x: Range; y: Range } {
    if (this.known?.version !== this.data.version) this.known = { version: this.data.version, ...this.measure() };
    return this.known;
  }

  private measure(): { x: Range; y: Range } {
    const ys = this.groups.map((g) => (this.whole(g) ? g.y : g.y.filter((_, i) => this.visible(g, i))));
    const data = extent(...ys);
    if (!data) return { x: domain(this.names, null, false), y: domain(this.figure.y, null, true) };
    // Room for densities, whose ends are beyond the samples, but not beyond zero for it.
    const y = extent(data, ...this.groups.filter((g) => this.whole(g)).map((g) => this.body(g)))!;
    if (data[0] >= 0) y[0] = this.figure.y.scale === "log" ? data[0] : Math.max(0, y[0]);
    return { x: domain(this.names, null, false), y: domain(this.figure.y, y, y[0] >= 0 && y[0] < 0.6 * y[1]) };
  }

  /** The interval, and where the density is more than a twentieth of its greatest. */
  private body({ of, density }: Group): number[] {
    const most = density ? (extent(density.weight)?.[1] ?? 0) : 0;
    const wide = density ? [...density.y].filter((_, i) => density.weight[i]! > most / 20) : [];
    return [of.low ?? NaN, of.high ?? NaN, ...wide];
  }

  private get slot(): number {
    return Math.min(160, this.x.at(1) - this.x.at(0));
  }

  private place(g: number, i: number): [number, number] {
    const group = this.groups[g]!;
    if (!this.visible(group, i)) return [NaN, NaN];
    const reach = this.slot * 0.3 * Math.min(1, (group.y.length - 1) / 12); // a few need not get out of each other's way
    return [this.x.at(g) + jitter(i) * reach * this.share(group, group.y[i]!), this.y.at(group.y[i]!)];
  }

  /** How wide the density is at y, of its widest. */
  private share(group: Group, y: number): number {
    if (!group.density) return 0.6;
    const { y: ys, weight } = group.density;
    const i = Math.min(ys.length - 1, lowerBound(ys, y));
    return Math.max(0.06, (weight[i] ?? 1) / (extent(weight)?.[1] || 1));
  }

  protected content(s: Surface, theme: Theme): void {
    this.groups.forEach((group, g) => {
      const colour = seriesColour(theme, group.of.colour ?? g);
      s.group(group.of.name, () => {
        if (this.whole(group)) this.drawDensity(s, g, colour);
        this.drawDots(s, g, colour);
        this.drawMedian(s, theme, g);
      });
    });
  }

  private drawDensity(s: Surface, g: number, colour: string): void {
    const density = this.groups[g]!.density;
    const most = density && extent(density.weight)?.[1];
    if (!density || !most) return;
    const right: number[] = [];
    const left: number[] = [];
    for (let i = 0; i < density.y.length; i++) {
      const half = (density.weight[i]! / most) * this.slot * 0.42;
      const y = this.y.at(density.y[i]!);
      if (Number.isNaN(half + y)) continue;
      right.push(this.x.at(g) + half, y);
      left.unshift(this.x.at(g) - half, y);
    }
    s.area([...right, ...left], colour, 0.16);
  }

  private drawDots(s: Surface, g: number, colour: string): void {
    const group = this.groups[g]!;
    const n = group.y.length;
    if (n <= many) {
      for (let i = 0; i < n; i++) {
        const [x, y] = this.place(g, i);
        if (x + y > -Infinity) s.circle(x, y, n > 500 ? 1.5 : 2.5, colour, n > 100 ? 0.5 : 0.8);
      }
      return;
    }
    const counts = new DotCounts(this.box);
    const rows = Math.ceil(this.box.bottom - this.box.top) + 1;
    const reach = Float64Array.from({ length: rows }, (_, row) => this.slot * 0.3 * this.share(group, this.y.invert(this.box.top + row)));
    const middle = this.x.at(g);
    for (let i = 0; i < n; i++) {
      const y = this.y.at(group.y[i]!);
      if (this.visible(group, i)) counts.add(middle + jitter(i) * (reach[Math.round(y - this.box.top)] ?? 0), y);
    }
    counts.draw(s, colour);
  }

  /** The given ones, or while filters hide samples the median of those that are seen. */
  private middle(g: number): { median: number | null; low: number | null; high: number | null } {
    const group = this.groups[g]!;
    if (this.whole(group)) return group.of;
    const seen = [...group.y].filter((v, i) => this.visible(group, i) && Number.isFinite(v));
    return { median: seen.length ? median(seen) : null, low: null, high: null };
  }

  private drawMedian(s: Surface, theme: Theme, g: number): void {
    const { median: m, low, high } = this.middle(g);
    const x = this.x.at(g);
    const w = this.slot * 0.18;
    if (low !== null && high !== null) s.line([x, this.y.at(low), x, this.y.at(high)], { colour: theme.text, width: 3 });
    if (m === null) return;
    s.line([x - w, this.y.at(m), x + w, this.y.at(m)], { colour: theme.text, width: 2 });
  }

  private hit(g: number, i: number): Hit {
    const group = this.groups[g]!;
    const [x, y] = this.place(g, i);
    const { median: m, low, high } = this.middle(g);
    const between = low !== null && high !== null ? ` [${showOn(this.figure.y, low)}, ${showOn(this.figure.y, high)}]` : "";
    const lines = [group.of.name, `${this.figure.y.label}: ${showOn(this.figure.y, group.y[i])}`, ...this.data.runLines(group.runs?.[i])];
    if (m !== null) lines.push(`median: ${showOn(this.figure.y, m)}${between}`);
    return { x, y, lines };
  }

  near(x: number, y: number): Hit | null {
    const g = Math.round(this.x.invert(x));
    const group = this.groups[g];
    let best = Infinity;
    let found = -1;
    for (let i = 0; group && i < group.y.length; i++) {
      const py = this.y.at(group.y[i]!);
      if (!(Math.abs(py - y) < 30)) continue;
      const distance = (this.place(g, i)[0] - x) ** 2 + (py - y) ** 2;
      if (distance < best) {
        best = distance;
        found = i;
      }
    }
    if (found < 0) return null;
    this.cursor = [g, found];
    return this.hit(g, found);
  }

  move(direction: Move): Hit | null {
    let [g, i] = this.cursor;
    if (direction === "up" || direction === "down") {
      g = (g + (direction === "up" ? this.groups.length - 1 : 1)) % Math.max(1, this.groups.length);
      i = -1;
    }
    const n = this.groups[g]?.y.length ?? 0;
    if (direction === "first") i = -1;
    if (direction === "last") i = n;
    const step = direction === "left" || direction === "last" ? -1 : 1;
    do i += step;
    while (i >= 0 && i < n && Number.isNaN(this.place(g, i)[1]));
    if (i < 0 || i >= n) return null;
    this.cursor = [g, i];
    return this.hit(g, i);
  }

  summary(): string {
    const parts = this.groups.slice(0, 8).map((g) => {
      const interval = g.of.low !== null && g.of.high !== null ? ` [${showOn(this.figure.y, g.of.low)}, ${showOn(this.figure.y, g.of.high)}]` : "";
      return `${g.of.name}: ${g.y.length} ${g.y.length === 1 ? "sample" : "samples"}, median ${showOn(this.figure.y, g.of.median)}${interval}`;
    });
    if (this.groups.length > 8) parts.push(`and ${this.groups.length - 8} more groups`);
    return `${this.figure.y.label}. ${parts.join("; ")}.`;
  }
}
