// SPDX-License-Identifier: GPL-3.0-or-later
// What every kind of plot offers to its figure, and the frame of those with two axes: ticks, grid, legend, marks, zoom.
import type { Axis, Mark } from "./document";
import { fitted, textWidth, type Surface } from "./draw";
import type { Theme } from "./palette";
import { Scale, type Tick } from "./scale";

export type Range = [number, number];
export interface Zoom {
  x?: Range;
  y?: Range;
}
/** A mark that a pointer or the keyboard has found: its place, and what is to be said of it. */
export interface Hit {
  x: number;
  y: number;
  lines: string[];
}
export type Cell = string | number | null;
export type Move = "left" | "right" | "up" | "down" | "first" | "last";
/** Of a plot that is moved about in: zoom by a factor around a pixel, pan by a share of what is seen, scroll by rows. */
export interface Travel {
  zoom?: number;
  around?: number;
  pan?: number;
  scroll?: number;
}

export interface Plot {
  /** Whether the filters of the page reach it. */
  readonly filtered: boolean;
  readonly head: string[];
  rows(): Iterable<Cell[]>;
  height(width: number): number;
  draw(s: Surface, theme: Theme, zoom: Zoom): void;
  /** Those below speak of what was drawn last. */
  near(x: number, y: number): Hit | null;
  move(direction: Move): Hit | null;
  summary(): string;
  axes(): object;
  select?(x0: number, y0: number, x1: number, y1: number): Zoom | null;
  travel?(travel: Travel, zoom: Zoom): Zoom;
}

export interface LegendEntry {
  name: string;
  colour: string;
  dashed?: boolean;
}
export interface Box {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

export const overlaps = (width: number, labels: Tick[]) => labels.some((t) => textWidth(t.label, 11) > width - 6);

/** Draws entries in rows from the top; returns the height they take. Without a surface it only measures. */
export function legend(s: Surface | null, entries: LegendEntry[], theme: Theme | null, width: number, left = 0): number {
  const most = 24;
  let x = left;
  let y = 9;
  const shown = entries.slice(0, most);
  if (entries.length > most) shown.push({ name: `and ${entries.length - most} more`, colour: "none" });
  for (const entry of shown) {
    const name = fitted(entry.name, Math.min(260, width - 30));
    const w = textWidth(name) + 34;
    if (x > left && x + w > width) {
      x = left;
      y += 18;
    }
    if (s && theme) {
      if (entry.colour !== "none")
        s.line([x, y, x + 16, y], { colour: entry.colour, width: entry.dashed ? 2 : 5, ...(entry.dashed && { dash: [4, 3] }) });
      s.text(x + 21, y, name, { colour: theme.muted });
    }
    x += w;
  }
  return shown.length ? y + 13 : 0;
}

export function axisTitle(axis: Axis, unit: string): string {
  return unit ? `${axis.label} (${unit})` : axis.label;
}

export abstract class Framed implements Plot {
  abstract readonly filtered: boolean;
  abstract readonly head: string[];
  protected x!: Scale;
  protected y!: Scale;
  protected box: Box = { left: 0, top: 0, right: 0, bottom: 0 };
  protected marks: Mark[] = [];
  /** Panels share their axes, and one legend above them all. */
  shared: { x?: Range; y?: Range; bare?: boolean; title?: string } = {};

  abstract rows(): Iterable<Cell[]>;
  abstract near(x: number, y: number): Hit | null;
  abstract move(direction: Move): Hit | null;
  abstract summary(): string;
  protected abstract axisX(): Axis;
  protected abstract axisY(): Axis;
  abstract domains(): { x: Range; y: Range };
  protected abstract content(s: Surface, theme: Theme): void;
  abstract legend(theme: Theme): LegendEntry[];
  /** What stands in the rows of the legend instead of it; returns its height. */
  protected drawLegend(s: Surface | null, theme: Theme | null, width: number): number {
    return this.shared.bare || !theme ? 0 : legend(s, this.legend(theme), theme, width);
  }

  height(width: number): number {
    return Math.round(Math.min(380, Math.max(260, width * 0.5)));
  }

  draw(s: Surface, theme: Theme, zoom: Zoom): void {
    const all = this.domains();
    const rangeX = zoom.x ?? this.shared.x ?? all.x;
    const rangeY = zoom.y ?? this.shared.y ?? all.y;
    let top = this.drawLegend(s, theme, s.width);
    if (this.shared.title) {
      s.text(0, top + 8, fitted(this.shared.title, s.width), { colour: theme.text, bold: true });
      top += 20;
    }
    const probe = new Scale(this.axisY(), rangeY[0], rangeY[1], 300, 0);
    const widest = Math.max(16, ...probe.ticks(5).map((t) => textWidth(t.label, 11)));
    const left = Math.min(widest, s.width * 0.3) + 10;
    const right = s.width - 12;
    const slots = new Scale(this.axisX(), rangeX[0], rangeX[1], left, right);
    const turned = this.axisX().scale === "category" && overlaps((right - left) / (rangeX[1] - rangeX[0]), slots.ticks(8));
    const depth = turned ? Math.min(90, Math.max(...slots.ticks(8).map((t) => textWidth(t.label, 11))) * 0.6 + 14) : 16;
    this.box = { left, right, top: top + 24, bottom: s.height - depth - (this.axisX().label ? 22 : 6) };
    this.x = slots;
    this.y = new Scale(this.axisY(), rangeY[0], rangeY[1], this.box.bottom, this.box.top);
    this.frame(s, theme, turned);
    const { left: l, top: t, right: r, bottom: b } = this.box;
    s.clip(l - 4, t - 4, r - l + 8, b - t + 8, () => this.content(s, theme)); // dots on the edge are whole
    s.group("marks", () => this.marks.forEach((m) => this.drawMark(s, theme, m)));
  }

  private frame(s: Surface, theme: Theme, turned: boolean): void {
    const { left, right, top, bottom } = this.box;
    let last = Infinity;
    s.group("axis y", () => {
      for (const tick of this.y.ticks(Math.max(2, Math.round((bottom - top) / 45)))) {
        const y = this.y.at(tick.value);
        if (y < top - 1 || y > bottom + 1) continue;
        s.line([left, y, right, y], { colour: theme.grid });
        if (Math.abs(last - y) < 13) continue;
        s.text(left - 6, y, fitted(tick.label, left - 8, 11), { colour: theme.muted, align: "end", size: 11 });
        last = y;
      }
      s.text(0, top - 15, fitted(axisTitle(this.axisY(), this.y.unit), s.width), { colour: theme.text, size: 12 });
    });
    last = -Infinity;
    s.group("axis x", () => {
      s.line([left, bottom, right, bottom], { colour: theme.muted });
      const room = this.axisX().scale === "category" ? 0 : 80;
      for (const tick of this.x.ticks(Math.max(2, Math.round((right - left) / (room || 80))))) {
        const x = this.x.at(tick.value);
        if (x < left - 1 || x > right + 1) continue;
        s.line([x, bottom, x, bottom + 4], { colour: theme.muted });
        const half = turned ? 7 : textWidth(tick.label, 11) / 2;
        if (x - half < last + (turned ? 0 : 6)) continue;
        last = x + half;
        if (turned) s.text(x + 3, bottom + 10, fitted(tick.label, 140, 11), { colour: theme.muted, align: "end", size: 11, turn: -35 });
        else s.text(Math.max(half, Math.min(s.width - half, x)), bottom + 13, tick.label, { colour: theme.muted, align: "middle", size: 11 });
      }
      const title = axisTitle(this.axisX(), this.x.unit);
      if (title) s.text((left + right) / 2, s.height - 9, fitted(title, right - left), { colour: theme.text, align: "middle" });
    });
  }

  private drawMark(s: Surface, theme: Theme, mark: Mark): void {
    const { left, right, top, bottom } = this.box;
    const scale = mark.axis === "x" ? this.x : this.y;
    const [low, high] = mark.axis === "x" ? [left, right] : [top, bottom];
    const inside = (p: number) => Math.min(high, Math.max(low, p));
    const a = scale.at(mark.from);
    const b = mark.to === undefined ? a : scale.at(mark.to);
    if (!Number.isFinite(a + b) || Math.max(a, b) < low - 1 || Math.min(a, b) > high + 1) return;
    const from = inside(Math.min(a, b));
    const to = inside(Math.max(a, b));
    if (mark.axis === "x") {
      if (to > from) s.rect(from, top, to - from, bottom - top, theme.mark, 0.12);
      else s.line([from, top, from, bottom], { colour: theme.mark, dash: [5, 4] });
      const end = from > (left + right) / 2;
      s.text(end ? from - 4 : to + 4, top + 8, mark.label, { colour: theme.mark, size: 11, align: end ? "end" : "start" });
    } else {
      if (to > from) s.rect(left, from, right - left, to - from, theme.mark, 0.12);
      else s.line([left, from, right, from], { colour: theme.mark, dash: [5, 4] });
      s.text(right - 4, from - top < 16 ? to + 8 : from - 8, fitted(mark.label, right - left - 8, 11), { colour: theme.mark, size: 11, align: "end" });
    }
  }

  inside(x: number, y: number): boolean {
    const { left, right, top, bottom } = this.box;
    return x >= left && x <= right && y >= top && y <= bottom;
  }

  /** A flat selection zooms in x alone. */
  select(x0: number, y0: number, x1: number, y1: number): Zoom | null {
    const { left, right, top, bottom } = this.box;
    const clamp = (v: number, a: number, b: number) => Math.min(b, Math.max(a, v));
    const xs = [clamp(x0, left, right), clamp(x1, left, right)].sort((a, b) => a - b) as Range;
    const ys = [clamp(y0, top, bottom), clamp(y1, top, bottom)].sort((a, b) => b - a) as Range;
    const zoom: Zoom = {};
    if (xs[1] - xs[0] >= 6) zoom.x = [this.x.invert(xs[0]), this.x.invert(xs[1])];
    if (ys[0] - ys[1] >= 16) zoom.y = [this.y.invert(ys[0]), this.y.invert(ys[1])];
    return zoom.x || zoom.y ? zoom : null;
  }

  axes(): object {
    const about = (s: Scale) => ({ scale: s.axis.scale, from: s.from, to: s.to, low: s.low, high: s.high });
    return { x: about(this.x), y: about(this.y) };
  }
}
