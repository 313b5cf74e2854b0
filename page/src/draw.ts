// SPDX-License-Identifier: GPL-3.0-or-later
// The one layer through which every plot is drawn: on a canvas on screen, as the text of an SVG file for download.
// Coordinates are CSS pixels.

export interface Stroke {
  colour: string;
  width?: number;
  dash?: number[];
  opacity?: number;
}
export interface TextStyle {
  colour: string;
  align?: "start" | "middle" | "end";
  size?: number;
  bold?: boolean;
  turn?: number; // degrees around the place given
}

export interface Surface {
  width: number;
  height: number;
  /** x, y, x, y ...; NaN leaves a gap. */
  line(points: ArrayLike<number>, stroke: Stroke): void;
  area(points: ArrayLike<number>, colour: string, opacity?: number): void;
  rect(x: number, y: number, width: number, height: number, colour: string, opacity?: number): void;
  circle(x: number, y: number, radius: number, colour: string, opacity?: number): void;
  /** y is the middle of the letters. */
  text(x: number, y: number, text: string, style: TextStyle): void;
  /** columns * rows colours as red, green, blue, opacity, stretched over a rectangle. */
  image(x: number, y: number, width: number, height: number, columns: number, rows: number, rgba: Uint8ClampedArray<ArrayBuffer>): void;
  /** What draw() draws belongs together, under a name. */
  group(name: string, draw: () => void): void;
  /** draw() sees a surface of this size, whose corner is at x, y. */
  inset(name: string, x: number, y: number, width: number, height: number, draw: () => void): void;
  clip(x: number, y: number, width: number, height: number, draw: () => void): void;
}

const family = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif';
const font = (style: TextStyle) => `${style.bold ? "600 " : ""}${style.size ?? 12}px ${family}`;

let ruler: CanvasRenderingContext2D | null = null;
export function textWidth(text: string, size = 12): number {
  ruler ??= document.createElement("canvas").getContext("2d");
  if (!ruler) return text.length * size * 0.6;
  ruler.font = font({ colour: "", size });
  return ruler.measureText(text).width;
}

/** text, shortened to fit into width. */
export function fitted(text: string, width: number, size = 12): string {
  if (textWidth(text, size) <= width) return text;
  let n = text.length;
  while (n > 1 && textWidth(text.slice(0, n) + "…", size) > width) n = n > 40 ? n >> 1 : n - 1;
  return text.slice(0, n) + "…";
}

function picture(columns: number, rows: number, rgba: Uint8ClampedArray<ArrayBuffer>): HTMLCanvasElement {
  const canvas = document.createElement("canvas");
  canvas.width = columns;
  canvas.height = rows;
  canvas.getContext("2d")?.putImageData(new ImageData(rgba, columns, rows), 0, 0);
  return canvas;
}

export class CanvasSurface implements Surface {
  private readonly context: CanvasRenderingContext2D;

  /** ratio: device pixels per CSS pixel. */
  constructor(canvas: HTMLCanvasElement, public width: number, public height: number, ratio: number) {
    const context = canvas.getContext("2d");
    if (!context) throw new Error("the browser gives no canvas to draw on");
    const w = Math.max(1, Math.round(width * ratio));
    const h = Math.max(1, Math.round(height * ratio));
    if (canvas.width !== w || canvas.height !== h) {
      canvas.width = w;
      canvas.height = h;
    }
    context.setTransform(w / width, 0, 0, h / height, 0, 0);
    context.clearRect(0, 0, width, height);
    this.context = context;
  }

  private path(points: ArrayLike<number>): void {
    let down = false;
    this.context.beginPath();
    for (let i = 0; i + 1 < points.length; i += 2) {
      const x = points[i]!;
      const y = points[i + 1]!;
      if (Number.isNaN(x) || Number.isNaN(y)) down = false;
      else if (down) this.context.lineTo(x, y);
      else {
        this.context.moveTo(x, y);
        down = true;
      }
    }
  }

  line(points: ArrayLike<number>, stroke: Stroke): void {
    const c = this.context;
    c.strokeStyle = stroke.colour;
    c.lineWidth = stroke.width ?? 1;
    c.globalAlpha = stroke.opacity ?? 1;
    c.lineJoin = points.length > 2000 ? "bevel" : "round"; // round joins of a long line cost most of its drawing
    c.setLineDash(stroke.dash ?? []);
    this.path(points);
    c.stroke();
    c.setLineDash([]);
    c.globalAlpha = 1;
  }

  area(points: ArrayLike<number>, colour: string, opacity = 1): void {
    this.context.fillStyle = colour;
    this.context.globalAlpha = opacity;
    this.path(points);
    this.context.fill();
    this.context.globalAlpha = 1;
  }

  rect(x: number, y: number, width: number, height: number, colour: string, opacity = 1): void {
    this.context.fillStyle = colour;
    this.context.globalAlpha = opacity;
    this.context.fillRect(x, y, width, height);
    this.context.globalAlpha = 1;
  }

  circle(x: number, y: number, radius: number, colour: string, opacity = 1): void {
    this.context.fillStyle = colour;
    this.context.globalAlpha = opacity;
    this.context.beginPath();
    this.context.arc(x, y, radius, 0, 2 * Math.PI);
    this.context.fill();
    this.context.globalAlpha = 1;
  }

  text(x: number, y: number, text: string, style: TextStyle): void {
    const c = this.context;
    c.save();
    c.translate(x, y);
    if (style.turn) c.rotate((style.turn * Math.PI) / 180);
    c.font = font(style);
    c.fillStyle = style.colour;
    c.textAlign = style.align === "middle" ? "center" : (style.align ?? "start");
    c.textBaseline = "middle";
    c.fillText(text, 0, 0);
    c.restore();
  }

  image(x: number, y: number, width: number, height: number, columns: number, rows: number, rgba: Uint8ClampedArray<ArrayBuffer>): void {
    this.context.imageSmoothingEnabled = false;
    this.context.drawImage(picture(columns, rows, rgba), x, y, width, height);
  }

  group(_name: string, draw: () => void): void {
    draw();
  }

  inset(_name: string, x: number, y: number, width: number, height: number, draw: () => void): void {
    const outer = { width: this.width, height: this.height };
    this.context.save();
    this.context.translate(x, y);
    Object.assign(this, { width, height });
    draw();
    Object.assign(this, outer);
    this.context.restore();
  }

  clip(x: number, y: number, width: number, height: number, draw: () => void): void {
    this.context.save();
    this.context.beginPath();
    this.context.rect(x, y, width, height);
    this.context.clip();
    draw();
    this.context.restore();
  }
}

/** Text of XML: what it forbids altogether is left out. */
const xml = (text: string) =>
  text
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "")
    .replace(/[&<>"'\n\r\t]/g, (c) => `&#${c.charCodeAt(0)};`);
const short = (v: number) => String(Math.round(v * 100) / 100);

export class SvgSurface implements Surface {
  private readonly parts: string[] = [];

  constructor(public width: number, public height: number) {}

  private path(points: ArrayLike<number>): string {
    let down = false;
    let d = "";
    for (let i = 0; i + 1 < points.length; i += 2) {
      const x = points[i]!;
      const y = points[i + 1]!;
      if (Number.isNaN(x) || Number.isNaN(y)) down = false;
      else {
        d += `${down ? "L" : "M"}${short(x)} ${short(y)}`;
        down = true;
      }
    }
    return d;
  }

  private static opacity(opacity = 1): string {
    return opacity === 1 ? "" : ` opacity="${short(opacity)}"`;
  }

  line(points: ArrayLike<number>, stroke: Stroke): void {
    const dash = stroke.dash ? ` stroke-dasharray="${stroke.dash.join(" ")}"` : "";
    this.parts.push(
      `<path d="${this.path(points)}" fill="none" stroke="${stroke.colour}" stroke-width="${stroke.width ?? 1}"` +
        `${dash}${SvgSurface.opacity(stroke.opacity)}/>`,
    );
  }

  area(points: ArrayLike<number>, colour: string, opacity?: number): void {
    this.parts.push(`<path d="${this.path(points)}Z" fill="${colour}"${SvgSurface.opacity(opacity)}/>`);
  }

  rect(x: number, y: number, width: number, height: number, colour: string, opacity?: number): void {
    this.parts.push(
      `<rect x="${short(x)}" y="${short(y)}" width="${short(width)}" height="${short(height)}" fill="${colour}"` +
        `${SvgSurface.opacity(opacity)}/>`,
    );
  }

  circle(x: number, y: number, radius: number, colour: string, opacity?: number): void {
    this.parts.push(
      `<circle cx="${short(x)}" cy="${short(y)}" r="${short(radius)}" fill="${colour}"${SvgSurface.opacity(opacity)}/>`,
    );
  }

  text(x: number, y: number, text: string, style: TextStyle): void {
    const turn = style.turn ? ` transform="rotate(${style.turn} ${short(x)} ${short(y)})"` : "";
    this.parts.push(
      `<text x="${short(x)}" y="${short(y)}" dy="0.35em" text-anchor="${style.align ?? "start"}" fill="${style.colour}"` +
        ` font-size="${style.size ?? 12}"${style.bold ? ' font-weight="600"' : ""}${turn}>${xml(text)}</text>`,
    );
  }

  image(x: number, y: number, width: number, height: number, columns: number, rows: number, rgba: Uint8ClampedArray<ArrayBuffer>): void {
    this.parts.push(
      `<image x="${short(x)}" y="${short(y)}" width="${short(width)}" height="${short(height)}" preserveAspectRatio="none"` +
        ` style="image-rendering:pixelated" href="${picture(columns, rows, rgba).toDataURL()}"/>`,
    );
  }

  group(name: string, draw: () => void): void {
    this.parts.push(`<g data-name="${xml(name)}">`);
    draw();
    this.parts.push("</g>");
  }

  inset(name: string, x: number, y: number, width: number, height: number, draw: () => void): void {
    const outer = { width: this.width, height: this.height };
    this.parts.push(`<g data-name="${xml(name)}" transform="translate(${short(x)} ${short(y)})">`);
    Object.assign(this, { width, height });
    draw();
    Object.assign(this, outer);
    this.parts.push("</g>");
  }

  clip(x: number, y: number, width: number, height: number, draw: () => void): void {
    const id = `clip${this.parts.length}`;
    this.parts.push(`<clipPath id="${id}"><rect x="${short(x)}" y="${short(y)}" width="${short(width)}" height="${short(height)}"/></clipPath>`);
    this.parts.push(`<g clip-path="url(#${id})">`);
    draw();
    this.parts.push("</g>");
  }

  /** The file. about: where the axes are, for programs that read values back from it. */
  file(title: string, about: string, background: string): string {
    const size = `width="${short(this.width)}" height="${short(this.height)}"`;
    return (
      `<svg xmlns="http://www.w3.org/2000/svg" ${size} viewBox="0 0 ${short(this.width)} ${short(this.height)}"` +
      ` font-family="${xml(family)}" data-axes="${xml(about)}"><title>${xml(title)}</title>` +
      `<rect ${size} fill="${background}"/>${this.parts.join("\n")}</svg>\n`
    );
  }
}
