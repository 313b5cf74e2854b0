// SPDX-License-Identifier: GPL-3.0-or-later
// Small multiples: plots side by side, with the same axes and one legend.
import { extent, type Data } from "./data";
import type { PanelsFigure } from "./document";
import type { Surface } from "./draw";
import type { Theme } from "./palette";
import { legend, type Cell, type Hit, type LegendEntry, type Move, type Plot, type Range, type Zoom } from "./plot";
import { XyPlot } from "./xy";

export class PanelsPlot implements Plot {
  readonly filtered: boolean;
  readonly head: string[];
  private places: { left: number; top: number }[] = [];
  private active = 0;

  private constructor(private readonly panels: XyPlot[]) {
    this.filtered = panels.some((p) => p.filtered);
    this.head = ["panel", ...(panels[0]?.head ?? [])];
  }

  static async open(figure: PanelsFigure, data: Data): Promise<PanelsPlot> {
    return new PanelsPlot(await Promise.all(figure.panels.map((p) => XyPlot.open(p, data))));
  }

  *rows(): Iterable<Cell[]> {
    for (const panel of this.panels) for (const row of panel.rows()) yield [panel.figure.title, ...row];
  }

  private across(width: number): number {
    const most = Math.max(1, Math.min(this.panels.length, 4, Math.floor(width / 250)));
    return Math.max(1, Math.ceil(this.panels.length / Math.ceil(this.panels.length / most))); // rows of equal length
  }

  height(width: number): number {
    return Math.ceil(this.panels.length / this.across(width)) * 230 + 40;
  }

  draw(s: Surface, theme: Theme, zoom: Zoom): void {
    const entries = new Map<string, LegendEntry>();
    for (const p of this.panels) for (const e of p.legend(theme)) entries.set(e.name, e);
    const top = legend(s, [...entries.values()], theme, s.width);
    const across = this.across(s.width);
    const width = s.width / across;
    const height = (s.height - top) / Math.max(1, Math.ceil(this.panels.length / across));
    const all = this.panels.map((p) => p.domains());
    const union = (ranges: Range[]): Range => extent(ranges.flat()) ?? [0, 1];
    const shared = { x: union(all.map((d) => d.x)), y: union(all.map((d) => d.y)), bare: true };
    this.places = [];
    this.panels.forEach((panel, i) => {
      const place = { left: (i % across) * width, top: top + Math.floor(i / across) * height };
      this.places.push(place);
      panel.shared = { ...shared, title: panel.figure.title };
      s.inset(`panel ${panel.figure.title}`, place.left, place.top, width - 14, height - 10, () => panel.draw(s, theme, zoom));
    });
  }

  private at(x: number, y: number): number {
    return this.places.findIndex((p, i) => this.panels[i]!.inside(x - p.left, y - p.top));
  }

  private moved(hit: Hit | null): Hit | null {
    const place = this.places[this.active];
    return hit && place ? { x: hit.x + place.left, y: hit.y + place.top, lines: [this.panels[this.active]!.figure.title, ...hit.lines] } : null;
  }

  near(x: number, y: number): Hit | null {
    const i = this.at(x, y);
    if (i < 0) return null;
    this.active = i;
    return this.moved(this.panels[i]!.near(x - this.places[i]!.left, y - this.places[i]!.top));
  }

  move(direction: Move): Hit | null {
    const hit = this.panels[this.active]?.move(direction) ?? null;
    if (hit || (direction !== "left" && direction !== "right")) return this.moved(hit);
    const next = this.active + (direction === "right" ? 1 : -1);
    if (!this.panels[next]) return null;
    this.active = next;
    return this.moved(this.panels[next]!.move(direction === "right" ? "first" : "last"));
  }

  select(x0: number, y0: number, x1: number, y1: number): Zoom | null {
    const i = this.at(x0, y0);
    const place = this.places[i];
    return place ? this.panels[i]!.select(x0 - place.left, y0 - place.top, x1 - place.left, y1 - place.top) : null;
  }

  summary(): string {
    return `${this.panels.length} panels. ` + this.panels.slice(0, 4).map((p) => `${p.figure.title}: ${p.summary()}`).join(" ");
  }

  axes(): object {
    return { panels: this.panels.map((p, i) => ({ ...p.axes(), ...this.places[i] })) };
  }
}
