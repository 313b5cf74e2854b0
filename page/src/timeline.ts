// SPDX-License-Identifier: GPL-3.0-or-later
// Spans of many tracks over time. Each track has a tree over its spans, sixteen to a node, which knows the first start,
// the last end, how many, the busy time and its kind. What is below a pixel is drawn from the nodes: a redraw costs as
// many steps as there are pixels, not spans.
import type { Data, Values } from "./data";
import type { Axis, Named, TimelineFigure } from "./document";
import { fitted, textWidth, type Surface } from "./draw";
import { seriesColour, type Theme } from "./palette";
import { legend, type Cell, type Hit, type Move, type Plot, type Range, type Travel, type Zoom } from "./plot";
import { Scale, show } from "./scale";

const fan = 16;
export const rowHeight = 22;
const time: Axis = { label: "time", unit: "s", scale: "linear" };

interface Level {
  start: Float64Array;
  end: Float64Array;
  busy: Float64Array;
  kind: Uint8Array;
}
interface Track {
  name: string;
  first: number;
  n: number;
  levels: Level[]; // of 16, 256, 4096 ... spans
}

export class TimelinePlot implements Plot {
  readonly filtered = false;
  readonly head = ["track", "rank", "kind", "id", "start (s)", "duration (s)"];
  private readonly tracks: Track[] = [];
  private readonly depth: Uint8Array;
  private readonly all: Range;
  private readonly occurring: Named[]; // kinds that have spans, for the legend
  private x = new Scale(time, 0, 1, 0, 1);
  private box = { left: 0, top: 0, right: 0, bottom: 0 };
  private scroll = 0; // tracks above the first one seen, and a part of it
  private cursor: { track: number; span: number } = { track: 0, span: -1 };
  private weights = new Float64Array(0); // per pixel and kind

  private constructor(
    private readonly figure: TimelineFigure,
    private readonly start: Values,
    private readonly duration: Values,
    private readonly kind: Values,
    private readonly ids: Values,
  ) {
    let end = 0;
    const seen = new Set(kind);
    this.occurring = figure.kinds.filter((_, k) => seen.has(k));
    this.depth = new Uint8Array(start.length);
    for (const t of figure.tracks) {
      if (t.first + t.n > start.length) throw new Error(`track ${t.name} has more spans than there are`);
      this.nest(t.first, t.n);
      const track = { name: t.name, first: t.first, n: t.n, levels: this.grow(t.first, t.n) };
      this.tracks.push(track);
      for (const e of track.levels[track.levels.length - 1]?.end ?? []) end = Math.max(end, e);
    }
    let begin = Infinity;
    for (const t of this.tracks) if (t.n) begin = Math.min(begin, start[t.first]!);
    this.all = begin < end ? [begin, end] : [0, 1];
  }

  static async open(figure: TimelineFigure, data: Data): Promise<TimelinePlot> {
    const columns = [figure.start, figure.duration, figure.spanKind, figure.ids].map((n) => data.numbers(n));
    const [start, duration, kind, ids] = await Promise.all(columns);
    if (!start || !duration || !kind || !ids || duration.length !== start.length || kind.length !== start.length)
      throw new Error("its columns differ in length");
    return new TimelinePlot(figure, start, duration, kind, ids);
  }

  /** How many spans are open when one starts: inner spans are drawn lower. */
  private nest(first: number, n: number): void {
    const open: number[] = [];
    for (let i = first; i < first + n; i++) {
      while (open.length && open[open.length - 1]! <= this.start[i]!) open.pop();
      this.depth[i] = Math.min(3, open.length);
      open.push(this.start[i]! + this.duration[i]!);
    }
  }

  private grow(first: number, n: number): Level[] {
    const levels: Level[] = [];
    const kinds = Math.max(1, this.figure.kinds.length);
    let count = n;
    do {
      const below = levels[levels.length - 1];
      const nodes = Math.ceil(count / fan);
      const level = { start: new Float64Array(nodes), end: new Float64Array(nodes), busy: new Float64Array(nodes), kind: new Uint8Array(nodes) };
      for (let node = 0; node < nodes; node++) {
        const per = new Float64Array(kinds);
        let last = -Infinity;
        const from = node * fan;
        for (let c = from; c < Math.min(count, from + fan); c++) {
          const i = first + c;
          const busy = below ? below.busy[c]! : this.duration[i]!;
          const kind = below ? below.kind[c]! : this.kind[i]!;
          last = Math.max(last, below ? below.end[c]! : this.start[i]! + this.duration[i]!);
          per[kind]! += busy;
          level.busy[node]! += busy;
        }
        level.start[node] = below ? below.start[from]! : this.start[first + from]!;
        level.end[node] = last;
        level.kind[node] = per.indexOf(Math.max(...per));
      }
      levels.push(level);
      count = nodes;
    } while (count > 1);
    return levels;
  }

  *rows(): Iterable<Cell[]> {
    for (const [t, track] of this.tracks.entries())
      for (let i = track.first; i < track.first + track.n; i++)
        yield [track.name, this.figure.tracks[t]!.rank, this.figure.kinds[this.kind[i]!]?.name ?? null, this.ids[i]!, this.start[i]!, this.duration[i]!];
  }

  height(width: number): number {
    const names = this.occurring.map((k) => ({ name: k.name, colour: "" }));
    return legend(null, names, null, width) + Math.min(24, Math.max(2, this.tracks.length)) * rowHeight + 46;
  }

  private get scrolled(): number {
    return Math.floor(this.scroll);
  }
  private get seen(): number {
    return Math.max(1, Math.floor((this.box.bottom - this.box.top) / rowHeight));
  }

  draw(s: Surface, theme: Theme, zoom: Zoom): void {
    const entries = this.occurring.map((k) => ({ name: k.name, colour: seriesColour(theme, k.colour) }));
    const top = legend(s, entries, theme, s.width);
    const left = Math.min(130, s.width * 0.25);
    this.box = { left, right: s.width - 8, top: top + 4, bottom: s.height - 40 };
    const range = zoom.x ?? this.all;
    this.x = new Scale(time, range[0], range[1], left, this.box.right);
    this.scroll = Math.max(0, Math.min(this.scroll, this.tracks.length - this.seen));
    this.drawAxis(s, theme);
    for (let row = 0; row < this.seen && this.tracks[this.scrolled + row]; row++) {
      const track = this.tracks[this.scrolled + row]!;
      const y = this.box.top + row * rowHeight;
      s.text(left - 8, y + rowHeight / 2, fitted(track.name, left - 10, 11), { colour: theme.muted, align: "end", size: 11 });
      s.group(track.name, () => s.clip(left, y, this.box.right - left, rowHeight, () => this.drawTrack(s, theme, track, y + 2)));
    }
    if (this.tracks.length > this.seen) {
      const height = this.box.bottom - this.box.top;
      const y = this.box.top + (height * this.scrolled) / this.tracks.length;
      s.rect(s.width - 5, y, 4, Math.max(8, (height * this.seen) / this.tracks.length), theme.muted, 0.6);
    }
  }

  private drawAxis(s: Surface, theme: Theme): void {
    const { left, right, top, bottom } = this.box;
    // Far inside, ticks differ in digits that nobody reads: they then count from the left edge.
    const near = (this.x.to - this.x.from) / Math.max(Math.abs(this.x.to), 1e-300) < 1e-3;
    const zero = near ? this.x.from : 0;
    const ticks = new Scale(time, this.x.from - zero, this.x.to - zero, left, right);
    for (const tick of ticks.ticks(Math.max(2, Math.round((right - left) / 90)))) {
      const x = ticks.at(tick.value);
      s.line([x, top, x, bottom], { colour: theme.grid });
      s.text(x, bottom + 11, tick.label, { colour: theme.muted, align: "middle", size: 11 });
    }
    const title = near ? `time after ${Number(zero.toPrecision(10))} s (${ticks.unit})` : `time (${ticks.unit})`;
    s.text((left + right) / 2, s.height - 9, title, { colour: theme.text, align: "middle" });
  }

  private drawTrack(s: Surface, theme: Theme, track: Track, y: number): void {
    const { left, right } = this.box;
    const width = Math.ceil(right - left) + 1;
    const kinds = Math.max(1, this.figure.kinds.length);
    if (this.weights.length !== width * kinds) this.weights = new Float64Array(width * kinds);
    this.weights.fill(0);
    if (track.n) {
      const top = track.levels.length - 1;
      for (let node = 0; node < track.levels[top]!.start.length; node++) this.visit(s, theme, track, top, node, y);
    }
    this.drawPixels(s, theme, width, kinds, y);
  }

  private visit(s: Surface, theme: Theme, track: Track, level: number, node: number, y: number): void {
    const { start, end, busy, kind } = track.levels[level]!;
    if (end[node]! < this.x.from || start[node]! > this.x.to) return;
    const a = this.x.at(start[node]!);
    const b = this.x.at(end[node]!);
    if (b - a < 1) {
      this.weigh(a, kind[node]!, busy[node]!);
      return;
    }
    const below = track.levels[level - 1];
    const last = Math.min((node + 1) * fan, below ? below.start.length : track.n);
    for (let child = node * fan; child < last; child++) {
      if (below) this.visit(s, theme, track, level - 1, child, y);
      else this.drawSpan(s, theme, track.first + child, y);
    }
  }

  private weigh(x: number, kind: number, busy: number): void {
    const pixel = Math.floor(x - this.box.left);
    const kinds = Math.max(1, this.figure.kinds.length);
    if (pixel >= 0 && (pixel + 1) * kinds <= this.weights.length) this.weights[pixel * kinds + kind]! += busy + 1e-15;
  }

  private drawSpan(s: Surface, theme: Theme, i: number, y: number): void {
    const a = this.x.at(this.start[i]!);
    const b = this.x.at(this.start[i]! + this.duration[i]!);
    const { left, right } = this.box;
    if (b < left || a > right) return;
    if (b - a < 1) {
      this.weigh(a, this.kind[i]!, this.duration[i]!);
      return;
    }
    const from = Math.max(left - 1, a);
    const width = Math.min(right + 1, b) - from;
    const lower = this.depth[i]! * 4;
    const kind = this.figure.kinds[this.kind[i]!];
    s.rect(from, y + lower, Math.max(1, width - (width > 4 ? 0.5 : 0)), rowHeight - 4 - lower, seriesColour(theme, kind?.colour ?? 11));
    if (kind && width > 24 && lower < 8 && textWidth(kind.name, 10) < width - 8)
      s.text(from + 4, y + lower / 2 + 9, kind.name, { colour: theme.background, size: 10 });
  }

  /** Of each pixel the kind that took most of it; runs of equal pixels are one rectangle. */
  private drawPixels(s: Surface, theme: Theme, width: number, kinds: number, y: number): void {
    const perPixel = (this.x.to - this.x.from) / Math.max(1, this.box.right - this.box.left);
    let from = 0;
    let drawn = -1;
    for (let pixel = 0; pixel <= width; pixel++) {
      let best = -1;
      let most = 0;
      let sum = 0;
      for (let k = 0; k < kinds && pixel < width; k++) {
        const w = this.weights[pixel * kinds + k]!;
        sum += w;
        if (w > most) {
          most = w;
          best = k;
        }
      }
      const key = best < 0 ? -1 : best * 4 + Math.min(3, Math.floor((sum / perPixel) * 4));
      if (key === drawn) continue;
      if (drawn >= 0) {
        const colour = seriesColour(theme, this.figure.kinds[drawn >> 2]?.colour ?? 11);
        s.rect(this.box.left + from, y, pixel - from, rowHeight - 4, colour, 0.4 + 0.2 * (drawn & 3));
      }
      drawn = key;
      from = pixel;
    }
  }

  /** The innermost span at t, else the nearest within slack. */
  private find(track: Track, t: number, slack: number): number {
    let best = -1;
    let distance = Infinity;
    const look = (level: number, node: number): void => {
      const { start, end } = track.levels[level]!;
      if (end[node]! < t - slack || start[node]! > t + slack) return;
      const below = track.levels[level - 1];
      const last = Math.min((node + 1) * fan, below ? below.start.length : track.n);
      for (let child = node * fan; child < last; child++) {
        if (below) {
          look(level - 1, child);
          continue;
        }
        const a = this.start[track.first + child]!;
        const b = a + this.duration[track.first + child]!;
        const d = t < a ? a - t : t > b ? t - b : 0;
        if (d <= slack && (d < distance || (d === 0 && distance === 0))) {
          distance = d;
          best = track.first + child;
        }
      }
    };
    if (track.n) {
      const top = track.levels.length - 1;
      for (let node = 0; node < track.levels[top]!.start.length; node++) look(top, node);
    }
    return best;
  }

  private hit(row: number, i: number): Hit {
    const kind = this.figure.kinds[this.kind[i]!];
    const track = this.figure.tracks[row]!;
    const middle = this.x.at(this.start[i]! + this.duration[i]! / 2);
    const lines = [
      `${kind?.name ?? "unknown"} ${this.ids[i]}`, `duration: ${show(this.duration[i], "s")}`, `start: ${Number(this.start[i]!.toPrecision(10))} s`,
      track.name === `rank ${track.rank}` ? track.name : `${track.name}, rank ${track.rank}`,
    ];
    if (kind?.text) lines.push(kind.text);
    return {
      x: Math.min(this.box.right, Math.max(this.box.left, middle)),
      y: this.box.top + (row - this.scrolled + 0.5) * rowHeight,
      lines,
    };
  }

  near(x: number, y: number): Hit | null {
    const row = this.scrolled + Math.floor((y - this.box.top) / rowHeight);
    const track = this.tracks[row];
    if (!track || x < this.box.left || y < this.box.top || y > this.box.bottom) return null;
    const slack = (3 * (this.x.to - this.x.from)) / (this.box.right - this.box.left);
    const span = this.find(track, this.x.invert(x), slack);
    if (span < 0) return null;
    this.cursor = { track: row, span };
    return { ...this.hit(row, span), x };
  }

  /** To the next or the last span, or to another track. */
  move(direction: Move): Hit | null {
    let { track, span } = this.cursor;
    if (direction === "up" || direction === "down") {
      track = Math.max(0, Math.min(this.tracks.length - 1, track + (direction === "up" ? -1 : 1)));
      span = -1;
    }
    const t = this.tracks[track];
    if (!t?.n) return null;
    if (span < 0) {
      let low = t.first;
      while (low < t.first + t.n - 1 && this.start[low]! + this.duration[low]! < this.x.from) low++;
      span = low;
    } else span = Math.max(t.first, Math.min(t.first + t.n - 1, span + (direction === "left" ? -1 : 1)));
    if (direction === "first") span = t.first;
    if (direction === "last") span = t.first + t.n - 1;
    this.cursor = { track, span };
    if (track < this.scrolled || track >= this.scrolled + this.seen) this.scroll = track;
    return this.hit(track, span);
  }

  select(x0: number, _y0: number, x1: number): Zoom | null {
    const [a, b] = [this.x.invert(Math.min(x0, x1)), this.x.invert(Math.max(x0, x1))];
    return b > a ? { x: this.bounded(a, b) } : null;
  }

  private bounded(a: number, b: number): Range {
    const whole = this.all[1] - this.all[0];
    const width = Math.min(whole, Math.max(b - a, whole * 1e-12, 1e-9));
    const from = Math.min(this.all[1] - width, Math.max(this.all[0], a));
    return [from, from + width];
  }

  /** From what was asked for last, which need not be drawn yet. */
  travel({ zoom: factor, around, pan, scroll }: Travel, zoom: Zoom): Zoom {
    if (scroll) this.scroll = Math.max(0, Math.min(this.scroll + scroll, this.tracks.length - this.seen));
    const [from, to] = zoom.x ?? this.all;
    const width = to - from;
    if (pan) return { x: this.bounded(from + pan * width, to + pan * width) };
    if (!factor) return { x: [from, to] };
    const { left, right } = this.box;
    const t = from + (around === undefined ? 0.5 : (around - left) / (right - left)) * width;
    return { x: this.bounded(t - (t - from) / factor, t + (to - t) / factor) };
  }

  summary(): string {
    const kinds = this.occurring.map((k) => k.name).join(", ");
    return `${this.start.length} spans on ${this.tracks.length} tracks, ${show(this.all[1] - this.all[0], "s")} long. Kinds: ${kinds}.`;
  }

  axes(): object {
    return { x: { scale: "linear", from: this.x.from, to: this.x.to, low: this.x.low, high: this.x.high }, top: this.box.top, row: rowHeight, scrolled: this.scrolled };
  }
}
