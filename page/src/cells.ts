// SPDX-License-Identifier: GPL-3.0-or-later
// Values in cells: heat maps, by colour, and matrices, by number and colour.
import { extent, type Data, type Values } from "./data";
import type { Axis, HeatFigure, MatrixFigure } from "./document";
import { fitted, textWidth, type Surface } from "./draw";
import { between, css, inkOn, type Theme } from "./palette";
import { Framed, type Cell, type Hit, type LegendEntry, type Move, type Plot, type Range } from "./plot";
import { Scale, show, showOn } from "./scale";
import { axisHead } from "./xy";

function moved(cursor: [number, number], direction: Move, columns: number, rows: number): [number, number] {
  let [i, j] = cursor;
  if (direction === "left") i--;
  if (direction === "right") i++;
  if (direction === "up") j++;
  if (direction === "down") j--;
  if (direction === "first") i = 0;
  if (direction === "last") i = columns - 1;
  return [Math.max(0, Math.min(columns - 1, i)), Math.max(0, Math.min(rows - 1, j))];
}

export class HeatPlot extends Framed {
  readonly filtered = false;
  readonly head: string[];
  private cursor: [number, number] = [-1, 0];
  private readonly range: Range;
  private readonly colour: Scale;

  private constructor(private readonly figure: HeatFigure, private readonly cells: Values) {
    super();
    const log = figure.value.scale === "log";
    this.range = extent(log ? cells.filter((v) => v > 0) : cells) ?? [0, 1];
    this.colour = new Scale(figure.value, this.range[0], this.range[1], 0, 1);
    this.head = [axisHead(figure.x), axisHead(figure.y), axisHead(figure.value)];
  }

  static async open(figure: HeatFigure, data: Data): Promise<HeatPlot> {
    const cells = await data.numbers(figure.cells);
    if (cells.length !== figure.nx * figure.ny)
      throw new Error(`the figure has ${cells.length} cells instead of ${figure.nx} times ${figure.ny}`);
    return new HeatPlot(figure, cells);
  }

  protected axisX(): Axis {
    return this.figure.x;
  }
  protected axisY(): Axis {
    return this.figure.y;
  }
  legend(): LegendEntry[] {
    return [];
  }

  height(width: number): number {
    return Math.max(super.height(width), Math.min(560, this.figure.ny * 12 + 100));
  }

  *rows(): Iterable<Cell[]> {
    const { nx, ny } = this.figure;
    for (let j = 0; j < ny; j++) for (let i = 0; i < nx; i++) yield [this.placeX(i), this.placeY(j), this.cells[j * nx + i]!];
  }

  private placeX(i: number): number {
    return this.figure.x0 + i * this.figure.dx;
  }
  private placeY(j: number): number {
    return this.figure.y0 + j * this.figure.dy;
  }

  domains(): { x: Range; y: Range } {
    const { nx, ny, dx, dy } = this.figure;
    return { x: [this.placeX(0) - dx / 2, this.placeX(nx - 1) + dx / 2], y: [this.placeY(0) - dy / 2, this.placeY(ny - 1) + dy / 2] };
  }

  /** A bar of the colours, with the least and the greatest value. */
  protected drawLegend(s: Surface | null, theme: Theme | null, width: number): number {
    const bar = Math.min(180, width / 3);
    if (!s || !theme) return 26;
    const rgba = new Uint8ClampedArray(64 * 4);
    for (let k = 0; k < 64; k++) rgba.set([...between(theme.sequence, k / 63), 255], k * 4);
    const from = `${this.figure.value.label}: ${showOn(this.figure.value, this.range[0])}`;
    s.group("legend", () => {
      s.text(0, 9, from, { colour: theme.muted });
      const x = textWidth(from) + 8;
      s.image(x, 3, bar, 12, 64, 1, rgba);
      s.text(x + bar + 8, 9, showOn(this.figure.value, this.range[1]), { colour: theme.muted });
    });
    return 26;
  }

  /** The colour of a value, as its place between the least and the greatest. */
  private share(v: number): number {
    return this.range[0] === this.range[1] ? 0.5 : this.colour.at(v);
  }

  protected content(s: Surface, theme: Theme): void {
    const { nx, ny, x0, dx, y0, dy } = this.figure;
    const seen = (from: number, to: number, zero: number, step: number, n: number): Range => {
      const a = Math.round((from - zero) / step);
      const b = Math.round((to - zero) / step);
      return [Math.max(0, Math.min(a, b)), Math.min(n - 1, Math.max(a, b))];
    };
    const [i0, i1] = seen(this.x.from, this.x.to, x0, dx, nx);
    const [j0, j1] = seen(this.y.from, this.y.to, y0, dy, ny);
    if (i1 < i0 || j1 < j0) return;
    // More cells than pixels: each pixel has the greatest of its cells, so that a single one is seen.
    const columns = Math.min(i1 - i0 + 1, Math.ceil(this.box.right - this.box.left));
    const rows = Math.min(j1 - j0 + 1, Math.ceil(this.box.bottom - this.box.top));
    const most = new Float64Array(columns * rows).fill(NaN);
    for (let j = j0; j <= j1; j++) {
      const row = rows - 1 - Math.floor(((j - j0) * rows) / (j1 - j0 + 1));
      for (let i = i0; i <= i1; i++) {
        const at = row * columns + Math.floor(((i - i0) * columns) / (i1 - i0 + 1));
        const v = this.cells[j * nx + i]!;
        if (!(v <= most[at]!) && !Number.isNaN(v)) most[at] = v;
      }
    }
    const shades = Array.from({ length: 256 }, (_, k) => between(theme.sequence, k / 255));
    const rgba = new Uint8ClampedArray(columns * rows * 4);
    for (let at = 0; at < most.length; at++) {
      const share = this.share(most[at]!);
      if (Number.isNaN(share)) continue;
      const shade = shades[Math.round(Math.min(1, Math.max(0, share)) * 255)]!;
      rgba.set(shade, at * 4);
      rgba[at * 4 + 3] = 255;
    }
    const left = this.x.at(this.placeX(i0) - dx / 2);
    const top = this.y.at(this.placeY(j1) + dy / 2);
    s.group("cells", () =>
      s.image(left, top, this.x.at(this.placeX(i1) + dx / 2) - left, this.y.at(this.placeY(j0) - dy / 2) - top, columns, rows, rgba),
    );
    for (const line of this.figure.lines ?? [])
      s.group(line.name, () => {
        const points = [this.x.at(line.x[0]), this.y.at(line.y[0]), this.x.at(line.x[1]), this.y.at(line.y[1])];
        s.line(points, { colour: theme.background, width: 4, opacity: 0.8 });
        s.line(points, { colour: theme.mark, width: 2, dash: [6, 3] });
        const end = points[2]! - textWidth(line.name, 11) > this.box.left + 20;
        s.text(points[2]! + (end ? -8 : 8), Math.max(this.box.top + 9, points[3]!), line.name, { colour: theme.mark, size: 11, bold: true, align: end ? "end" : "start" });
      });
  }

  private hit(i: number, j: number): Hit {
    const { x, y, value, nx } = this.figure;
    return {
      x: this.x.at(this.placeX(i)),
      y: this.y.at(this.placeY(j)),
      lines: [
        `${value.label}: ${showOn(value, this.cells[j * nx + i])}`,
        `${x.label}: ${showOn(x, this.placeX(i))}`,
        `${y.label}: ${showOn(y, this.placeY(j))}`,
      ],
    };
  }

  near(px: number, py: number): Hit | null {
    const i = Math.round((this.x.invert(px) - this.figure.x0) / this.figure.dx);
    const j = Math.round((this.y.invert(py) - this.figure.y0) / this.figure.dy);
    if (i < 0 || j < 0 || i >= this.figure.nx || j >= this.figure.ny || !this.inside(px, py)) return null;
    this.cursor = [i, j];
    return this.hit(i, j);
  }

  move(direction: Move): Hit | null {
    this.cursor = moved(this.cursor, direction, this.figure.nx, this.figure.ny);
    return this.figure.nx * this.figure.ny > 0 ? this.hit(...this.cursor) : null;
  }

  summary(): string {
    const { value, x, y, nx, ny, lines } = this.figure;
    const waves = lines?.length ? ` Lines: ${lines.map((l) => l.name).join(", ")}.` : "";
    return `${value.label} by ${x.label} and ${y.label}, ${nx} times ${ny} cells, ${showOn(value, this.range[0])} to ${showOn(value, this.range[1])}.${waves}`;
  }
}

export class MatrixPlot implements Plot {
  readonly filtered = false;
  readonly head: string[];
  private cursor: [number, number] = [-1, 0];
  private left = 0;
  private top = 0;
  private size = { width: 1, height: 1 };
  private readonly far: number; // the greatest distance from neutral, in the sense of the scale

  constructor(private readonly figure: MatrixFigure) {
    const { rows, columns, cells } = figure;
    if (cells.length !== rows.length * columns.length)
      throw new Error(`the figure has ${cells.length} cells instead of ${rows.length} times ${columns.length}`);
    this.head = [figure.rowsAre, figure.columnsAre, axisHead(figure.value), "low", "high"];
    this.far = Math.max(1e-300, ...cells.map((c) => Math.abs(this.distance(c.value))).filter(Number.isFinite));
  }

  /** Ratios are as far from neutral as their inverse. */
  private distance(v: number | null): number {
    if (v === null) return NaN;
    const { neutral } = this.figure;
    return neutral > 0 && v > 0 ? Math.log(v / neutral) : v - neutral;
  }

  *rows(): Iterable<Cell[]> {
    for (const [k, c] of this.figure.cells.entries()) {
      const n = this.figure.columns.length;
      yield [this.figure.rows[Math.floor(k / n)]!, this.figure.columns[k % n]!, c.value, c.low, c.high];
    }
  }

  height(): number {
    return this.figure.rows.length * 44 + 66;
  }

  draw(s: Surface, theme: Theme): void {
    const { rows, columns, cells } = this.figure;
    this.left = Math.min(s.width * 0.3, Math.max(0, ...rows.map((r) => textWidth(r)))) + 12;
    this.top = 44;
    this.size = { width: Math.min(150, (s.width - this.left) / Math.max(1, columns.length)), height: 44 };
    const { width, height } = this.size;
    s.text(0, 9, fitted(`Rows: ${this.figure.rowsAre}; columns: ${this.figure.columnsAre}`, s.width), { colour: theme.muted });
    columns.forEach((name, i) =>
      s.text(this.left + (i + 0.5) * width, this.top - 12, fitted(name, width - 4), { colour: theme.text, align: "middle" }),
    );
    rows.forEach((name, j) => s.text(this.left - 8, this.top + (j + 0.5) * height, fitted(name, this.left - 12), { colour: theme.text, align: "end" }));
    s.group("cells", () =>
      cells.forEach((cell, k) => {
        const x = this.left + (k % columns.length) * width;
        const y = this.top + Math.floor(k / columns.length) * height;
        const share = 0.5 + this.distance(cell.value) / this.far / 2;
        const colour = between(theme.diverging, Number.isFinite(share) ? share : 0.5);
        s.rect(x + 1, y + 1, width - 2, height - 2, css(colour), cell.value === null ? 0.35 : 1);
        const ink = cell.value === null ? theme.muted : inkOn(colour);
        const interval = cell.low !== null && cell.high !== null && width > 64;
        const value = cell.value === null ? "–" : show(cell.value, this.figure.value.unit);
        s.text(x + width / 2, y + height / 2 - (interval ? 8 : 0), fitted(value, width - 6, 13), { colour: ink, align: "middle", size: 13, bold: true });
        if (!interval) return;
        const text = `[${show(cell.low, this.figure.value.unit)}, ${show(cell.high, this.figure.value.unit)}]`;
        s.text(x + width / 2, y + height / 2 + 9, fitted(text, width - 6, 10), { colour: ink, align: "middle", size: 10 });
      }),
    );
    s.text(this.left, s.height - 10, `${this.figure.value.label}; neutral at ${show(this.figure.neutral, this.figure.value.unit)}`, { colour: theme.muted });
  }

  private hit(i: number, j: number): Hit {
    const { rows, columns, cells, rowsAre, columnsAre, value } = this.figure;
    const cell = cells[j * columns.length + i]!;
    const interval = cell.low !== null && cell.high !== null ? ` [${showOn(value, cell.low)}, ${showOn(value, cell.high)}]` : "";
    const lines = [`${value.label}: ${showOn(value, cell.value)}${interval}`, `${rowsAre}: ${rows[j]}`, `${columnsAre}: ${columns[i]}`];
    if (cell.text) lines.push(cell.text);
    return { x: this.left + (i + 0.5) * this.size.width, y: this.top + (j + 0.5) * this.size.height, lines };
  }

  near(x: number, y: number): Hit | null {
    const i = Math.floor((x - this.left) / this.size.width);
    const j = Math.floor((y - this.top) / this.size.height);
    if (i < 0 || j < 0 || i >= this.figure.columns.length || j >= this.figure.rows.length) return null;
    this.cursor = [i, j];
    return this.hit(i, j);
  }

  move(direction: Move): Hit | null {
    const flip: Partial<Record<Move, Move>> = { up: "down", down: "up" }; // rows count downwards here
    this.cursor = moved(this.cursor, flip[direction] ?? direction, this.figure.columns.length, this.figure.rows.length);
    return this.figure.cells.length ? this.hit(...this.cursor) : null;
  }

  summary(): string {
    const range = extent(this.figure.cells.map((c) => c.value ?? NaN));
    const { value, rows, columns, rowsAre, columnsAre } = this.figure;
    const values = range ? `${showOn(value, range[0])} to ${showOn(value, range[1])}` : "no values";
    return `${value.label}. Rows are ${rowsAre}: ${rows.join(", ")}. Columns are ${columnsAre}: ${columns.join(", ")}. ${values}.`;
  }

  axes(): object {
    return { left: this.left, top: this.top, ...this.size };
  }
}
