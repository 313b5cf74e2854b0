// SPDX-License-Identifier: GPL-3.0-or-later
// One figure on the page: opens its data when it comes near the screen, draws, follows pointer and keys, and downloads.
import { HeatPlot, MatrixPlot } from "./cells";
import type { Data } from "./data";
import type { Figure } from "./document";
import { announce, csv, download, element } from "./dom";
import { CanvasSurface, SvgSurface } from "./draw";
import { PanelsPlot } from "./panels";
import type { Hit, Move, Plot, Travel, Zoom } from "./plot";
import { SamplesPlot } from "./samples";
import { dataTable, tableOf } from "./table";
import { rowHeight, TimelinePlot } from "./timeline";
import type { View } from "./view";
import { XyPlot } from "./xy";

async function open(figure: Exclude<Figure, { kind: "table" }>, data: Data): Promise<Plot> {
  switch (figure.kind) {
    case "lines":
    case "dots":
    case "bars":
    case "stack":
      return XyPlot.open(figure, data);
    case "samples":
      return SamplesPlot.open(figure, data);
    case "heat":
      return HeatPlot.open(figure, data);
    case "matrix":
      return new MatrixPlot(figure);
    case "panels":
      return PanelsPlot.open(figure, data);
    case "timeline":
      return TimelinePlot.open(figure, data);
    default:
      throw new Error(`this page does not know figures of the kind ${(figure as { kind: string }).kind}`);
  }
}

const moves: { [key: string]: Move } = {
  ArrowLeft: "left", ArrowRight: "right", ArrowUp: "up", ArrowDown: "down", Home: "first", End: "last",
};
const travels: { [key: string]: Travel } = {
  "+": { zoom: 2 }, "=": { zoom: 2 }, "-": { zoom: 0.5 }, ArrowLeft: { pan: -0.2 }, ArrowRight: { pan: 0.2 },
  ArrowUp: { scroll: -1 }, ArrowDown: { scroll: 1 }, PageUp: { scroll: -10 }, PageDown: { scroll: 10 },
};

export class FigureView {
  readonly element: HTMLElement;
  private readonly holder = element("div", { class: "plot" });
  private readonly canvas = element("canvas", { role: "img", tabindex: "0", class: "drawing" });
  private readonly overlay = element("canvas", { class: "overlay", "aria-hidden": "true" });
  private readonly tip = element("div", { class: "tip", hidden: true });
  private readonly note = element("p", { class: "note", hidden: true });
  private readonly tools = element("div", { class: "tools" });
  private readonly reset = element("button", { hidden: true, click: () => this.zoomTo({}) }, "Reset zoom");
  private plot: Plot | null = null;
  private opening: Promise<void> | null = null;
  private frame = 0;
  private labelled = -1; // the filters that the label speaks of
  private drag: { x: number; y: number; lastX: number; lastY: number; moved: boolean } | null = null;

  constructor(readonly figure: Figure, private readonly data: Data, private readonly view: View) {
    const { id, title, text, notes } = figure;
    this.element = element(
      "figure", { id, "aria-labelledby": `${id}-title` },
      element("div", { class: "head" }, element("h3", { id: `${id}-title` }, title), this.tools),
      text ? element("p", { class: "text" }, text) : null,
      this.holder,
      ...(notes ?? []).map((n) => element("p", { class: "note" }, n)),
      this.note,
    );
    if (figure.kind === "table") {
      this.tools.append(this.button("CSV", () => this.saveTable()));
      return;
    }
    this.canvas.setAttribute("aria-label", `${title}.`);
    this.holder.append(this.canvas, this.overlay, this.tip);
    const rows = element("div", { hidden: true });
    const toggle = element("button", { "aria-expanded": "false", click: () => this.showData(rows, toggle) }, "Data");
    this.tools.append(
      this.reset, toggle, this.button("SVG", () => this.saveSvg()), this.button("PNG", () => this.savePng()), this.button("CSV", () => this.saveCsv()),
    );
    this.element.append(rows);
    // Where figures are not there yet, room for them keeps places of a link and of the contents.
    this.holder.style.minHeight = figure.kind === "matrix" ? "" : "300px";
    this.listen();
  }

  private button(name: string, save: () => void): HTMLElement {
    const click = () => void this.load().then(() => (this.plot || this.figure.kind === "table") && save());
    return element("button", { "aria-label": `Download ${this.figure.title} as ${name}`, click }, name);
  }

  load(): Promise<void> {
    this.opening ??= this.fill().catch((error: unknown) => this.failed(error));
    return this.opening;
  }

  private async fill(): Promise<void> {
    if (this.figure.kind === "table") {
      this.holder.replaceChildren(tableOf(this.figure, this.words()));
      return;
    }
    this.plot = await open(this.figure, this.data);
    if (this.plot.travel) {
      const zoom = (name: string, label: string, factor: number) =>
        element("button", { "aria-label": label, click: () => this.travel({ zoom: factor }) }, name);
      this.tools.prepend(zoom("+", "Zoom in", 2), zoom("−", "Zoom out", 0.5));
      this.note.hidden = false;
      this.note.textContent =
        "Drag to pan, Ctrl and the wheel (or + and −) to zoom, Shift and drag to choose a range, N and P for the next and the previous span.";
    }
    this.holder.style.minHeight = "";
    this.draw();
    new ResizeObserver(() => this.redraw()).observe(this.holder);
  }

  private words(): { [word: string]: string } {
    const words = { ...this.data.document.words };
    for (const m of Object.values(this.data.document.metrics)) words[m.label] ??= m.definition;
    return words;
  }

  private failed(error: unknown): void {
    this.plot = null;
    this.holder.style.minHeight = "";
    const why = error instanceof Error ? error.message : String(error);
    this.holder.replaceChildren(element("p", { class: "failure", role: "alert" }, `This figure cannot be drawn: ${why}`));
  }

  // Zoom

  private get keys(): { x: string; y: string } {
    const linked = "linked" in this.figure && this.figure.linked ? `~${this.figure.linked}` : this.figure.id;
    return { x: `x.${linked}`, y: `y.${this.figure.id}` };
  }
  private get zoom(): Zoom {
    const x = this.view.range(this.keys.x);
    const y = this.view.range(this.keys.y);
    return { ...(x && { x }), ...(y && { y }) };
  }
  private zoomTo(zoom: Zoom): void {
    this.hover(null);
    this.view.setRange(this.keys.x, zoom.x);
    this.view.setRange(this.keys.y, zoom.y);
  }
  private travel(travel: Travel): void {
    if (this.plot?.travel) this.zoomTo(this.plot.travel(travel, this.zoom));
  }
  hasZoom(key: string): boolean {
    return key === this.keys.x || key === this.keys.y;
  }

  // Drawing

  redraw(): void {
    if (!this.plot || this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.draw();
    });
  }

  private size(plot: Plot): { width: number; height: number } {
    const width = Math.max(200, Math.floor(this.holder.clientWidth));
    return { width, height: plot.height(width) };
  }

  draw(): void {
    if (!this.plot) return;
    try {
      const { width, height } = this.size(this.plot);
      const ratio = this.view.printing ? 2 : devicePixelRatio || 1;
      this.plot.draw(new CanvasSurface(this.canvas, width, height, ratio), this.view.theme, this.zoom);
      new CanvasSurface(this.overlay, width, height, ratio);
      const unfiltered = !this.plot.filtered && this.view.hidden.size > 0;
      if (this.labelled !== this.data.version) this.canvas.setAttribute("aria-label", `${this.figure.title}. ${this.plot.summary()}`);
      this.labelled = this.data.version;
      this.element.classList.toggle("unfiltered", unfiltered);
      this.reset.hidden = !this.zoom.x && !this.zoom.y;
    } catch (error) {
      this.failed(error);
    }
  }

  private hover(hit: Hit | null): void {
    const { width, height } = this.plot ? this.size(this.plot) : { width: 1, height: 1 };
    const s = new CanvasSurface(this.overlay, width, height, devicePixelRatio || 1);
    this.tip.hidden = !hit;
    if (!hit) return;
    const { theme } = this.view;
    s.line([hit.x, 0, hit.x, height, NaN, NaN, 0, hit.y, width, hit.y], { colour: theme.muted, dash: [2, 3], opacity: 0.7 });
    s.circle(hit.x, hit.y, 5, theme.text, 0.35);
    this.tip.replaceChildren(...hit.lines.map((line, i) => element(i ? "div" : "strong", {}, line)));
    const left = hit.x + 14 + this.tip.offsetWidth > width ? hit.x - 14 - this.tip.offsetWidth : hit.x + 14;
    this.tip.style.left = `${Math.max(0, left)}px`;
    this.tip.style.top = `${Math.max(0, Math.min(height - this.tip.offsetHeight, hit.y - 10))}px`;
  }

  // Pointer and keys

  private listen(): void {
    const place = (e: PointerEvent | WheelEvent) => {
      const box = this.canvas.getBoundingClientRect();
      const scale = box.width ? this.canvas.clientWidth / box.width : 1;
      return { x: (e.clientX - box.left) * scale, y: (e.clientY - box.top) * scale };
    };
    this.canvas.addEventListener("pointerdown", (e) => {
      if (e.button !== 0) return;
      const { x, y } = place(e);
      this.drag = { x, y, lastX: x, lastY: y, moved: false };
      if (e.pointerType === "mouse") this.canvas.setPointerCapture(e.pointerId);
    });
    this.canvas.addEventListener("pointermove", (e) => this.pointed(place(e), e));
    this.canvas.addEventListener("pointerup", (e) => this.released(place(e), e));
    this.canvas.addEventListener("pointercancel", () => (this.drag = null));
    this.canvas.addEventListener("pointerleave", (e) => !this.drag && e.pointerType === "mouse" && this.hover(null));
    this.canvas.addEventListener("blur", () => this.hover(null));
    this.canvas.addEventListener("dblclick", () => this.zoomTo({}));
    this.canvas.addEventListener("wheel", (e) => this.wheel(place(e).x, e), { passive: false });
    this.canvas.addEventListener("keydown", (e) => this.key(e));
  }

  private pointed({ x, y }: { x: number; y: number }, e: PointerEvent): void {
    if (!this.plot) return;
    const { drag } = this;
    if (!drag || (e.pointerType !== "mouse" && !this.plot.travel)) {
      this.hover(this.plot.near(x, y));
      return;
    }
    drag.moved ||= Math.abs(x - drag.x) + Math.abs(y - drag.y) > 4;
    if (!drag.moved) return;
    if (this.plot.travel && !e.shiftKey) {
      this.travel({ pan: (drag.lastX - x) / this.size(this.plot).width, scroll: (drag.lastY - y) / rowHeight });
      [drag.lastX, drag.lastY] = [x, y];
      return;
    }
    this.hover(null);
    const { width, height } = this.size(this.plot);
    const s = new CanvasSurface(this.overlay, width, height, devicePixelRatio || 1);
    const flat = Math.abs(y - drag.y) < 16 || this.plot.travel;
    s.rect(Math.min(x, drag.x), flat ? 0 : Math.min(y, drag.y), Math.abs(x - drag.x), flat ? height : Math.abs(y - drag.y), this.view.theme.series[0]!, 0.18);
  }

  private released({ x, y }: { x: number; y: number }, e: PointerEvent): void {
    const { drag, plot } = this;
    this.drag = null;
    if (!drag?.moved && e.pointerType !== "mouse") this.hover(plot?.near(x, y) ?? null);
    if (!drag?.moved || !plot?.select || (plot.travel && !e.shiftKey)) return;
    const zoom = plot.select(drag.x, drag.y, x, y);
    if (zoom) this.zoomTo({ ...this.zoom, ...zoom });
  }

  private wheel(x: number, e: WheelEvent): void {
    const focused = document.activeElement === this.canvas;
    if (!this.plot?.travel || !(e.ctrlKey || focused)) return; // else the page scrolls
    e.preventDefault();
    const sideways = Math.abs(e.deltaX) > Math.abs(e.deltaY);
    const travel: Travel = sideways ? { pan: e.deltaX / 800 } : e.shiftKey ? { scroll: Math.sign(e.deltaY) } : { zoom: Math.exp(-e.deltaY / 300), around: x };
    this.travel(travel);
  }

  private key(e: KeyboardEvent): void {
    if (!this.plot || e.altKey || e.ctrlKey || e.metaKey) return;
    let move = moves[e.key];
    if (e.key === "Escape" || (e.key === "0" && this.plot.travel)) {
      this.zoomTo({});
      e.preventDefault();
      return;
    }
    if (this.plot.travel) {
      const travel = travels[e.key];
      move = { n: "right", p: "left" }[e.key.toLowerCase()] as Move | undefined;
      if (travel) {
        this.travel(travel);
        e.preventDefault();
      }
    }
    if (!move) return;
    e.preventDefault();
    const hit = this.plot.move(move);
    if (!hit) return;
    this.hover(hit);
    announce(hit.lines.join(", "));
  }

  // Data and downloads

  private showData(rows: HTMLElement, toggle: HTMLElement): void {
    void this.load().then(() => {
      if (!this.plot) return;
      rows.hidden = !rows.hidden;
      toggle.setAttribute("aria-expanded", String(!rows.hidden));
      rows.replaceChildren(rows.hidden ? "" : dataTable(this.figure.title, this.plot.head, this.plot.rows()));
    });
  }

  private saveSvg(): void {
    const plot = this.plot!;
    const { width, height } = this.size(plot);
    const s = new SvgSurface(width, height);
    plot.draw(s, this.view.theme, this.zoom);
    const file = s.file(this.figure.title, JSON.stringify(plot.axes()), this.view.theme.background);
    download(`${this.figure.id}.svg`, new Blob([file], { type: "image/svg+xml" }));
  }

  private savePng(): void {
    const { width, height } = this.size(this.plot!);
    const canvas = element("canvas");
    const s = new CanvasSurface(canvas, width, height, Math.max(2, devicePixelRatio || 1));
    s.rect(0, 0, width, height, this.view.theme.background);
    this.plot!.draw(s, this.view.theme, this.zoom);
    canvas.toBlob((blob) => blob && download(`${this.figure.id}.png`, blob), "image/png");
  }

  private saveCsv(): void {
    download(`${this.figure.id}.csv`, new Blob([csv(this.plot!.head, this.plot!.rows())], { type: "text/csv" }));
  }

  private saveTable(): void {
    if (this.figure.kind !== "table") return;
    const head = this.figure.head.map((h) => (h.unit && h.unit !== "1" ? `${h.label} (${h.unit})` : h.label));
    download(`${this.figure.id}.csv`, new Blob([csv(head, this.figure.rows)], { type: "text/csv" }));
  }
}
