// SPDX-License-Identifier: GPL-3.0-or-later
// Numbers and their places: units, ticks, and scales from data to pixels and back.
import type { Axis } from "./document";

interface Step {
  factor: number;
  name: string;
}
const seconds: Step[] = [
  { factor: 1e-9, name: "ns" }, { factor: 1e-6, name: "µs" }, { factor: 1e-3, name: "ms" }, { factor: 1, name: "s" },
];
const prefixes = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
const si = ["", "k", "M", "G", "T", "P", "E"];

/** How to write a value as large as this in unit: divided by factor, followed by name. */
export function unitFor(size: number, unit: string): Step {
  const v = Math.abs(size);
  if (unit === "s") {
    let best = v === 0 ? seconds[3]! : seconds[0]!;
    for (const step of seconds) if (v >= step.factor * 0.9999) best = step;
    return best;
  }
  if (unit === "B" || unit === "B/s") {
    const power = v >= 1024 && Number.isFinite(v) ? Math.min(6, Math.floor(Math.log2(v) / 10)) : 0;
    return { factor: 1024 ** power, name: prefixes[power] + unit };
  }
  const name = unit === "1" ? "" : unit;
  const power = v >= 1e4 && Number.isFinite(v) ? Math.floor(Math.log10(v) / 3) : 0;
  if (power > 6 || unit === "%") return { factor: 1, name };
  return { factor: 1000 ** power, name: si[power] + name };
}

function digits(v: number): string {
  if (v === 0) return "0";
  const size = Math.abs(v);
  if (size >= 1e6 || size < 1e-4) return v.toExponential(2);
  return String(Number(v.toPrecision(size >= 1000 ? 5 : 4)));
}

function scaled(v: number, unit: string): string {
  const step = unitFor(v, unit);
  return digits(v / step.factor) + (step.name && ` ${step.name}`);
}

/** A value with its unit, for reading: "12.5 MiB/s". Counts stay exact as long as they can be read. */
export function show(v: number | null | undefined, unit: string): string {
  if (v === null || v === undefined || Number.isNaN(v)) return "missing";
  if (!Number.isFinite(v)) return v > 0 ? "infinite" : "-infinite";
  return (unit === "" || unit === "1") && Number.isInteger(v) && Math.abs(v) < 1e7 ? String(v) : scaled(v, unit);
}

const isDate = (axis: Axis, from: number) => axis.scale === "time" && from > 1e8;
const date = (v: number) => {
  const d = new Date(v * 1000);
  return Number.isNaN(d.getTime()) ? digits(v) : d.toISOString().replace("T", " ").replace(/\.?0*Z$/, "").slice(0, 19);
};

/** A value on an axis, for reading. */
export function showOn(axis: Axis, v: number | null | undefined): string {
  if (v === null || v === undefined || Number.isNaN(v)) return "missing";
  if (axis.scale === "category") return axis.categories?.[Math.round(v)] ?? String(v);
  if (axis.scale === "percentile") return `p${Number((v * 100).toPrecision(6))}`;
  if (isDate(axis, v)) return date(v);
  return show(v, axis.scale === "time" && !axis.unit ? "s" : axis.unit);
}

export interface Tick {
  value: number;
  label: string;
}

/** 1, 2 or 5 times a power of ten (for bytes: of two, below the next thousand), about count of them. */
function niceStep(range: number, count: number): number {
  const raw = range / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(raw));
  const lead = raw / power;
  return (lead <= 1 ? 1 : lead <= 2 ? 2 : lead <= 5 ? 5 : 10) * power;
}

const calendar = [1, 5, 15, 60, 300, 900, 3600, 10800, 21600, 43200, 86400, 2 * 86400, 7 * 86400, 30 * 86400, 91 * 86400, 365 * 86400];

export class Scale {
  private readonly a: number;
  private readonly k: number;

  /** from and to of the data at the pixels low and high. */
  constructor(readonly axis: Axis, readonly from: number, readonly to: number, readonly low: number, readonly high: number) {
    this.a = this.flat(from);
    const range = this.flat(to) - this.a;
    this.k = range === 0 || !Number.isFinite(range) ? 0 : (high - low) / range;
  }

  private flat(v: number): number {
    if (this.axis.scale === "log") return v > 0 ? Math.log10(v) : NaN;
    if (this.axis.scale === "percentile") return v < 1 ? -Math.log10(1 - v) : NaN;
    return v;
  }

  at(v: number): number {
    const f = this.flat(v);
    return this.k === 0 ? (Number.isNaN(f) ? NaN : (this.low + this.high) / 2) : this.low + (f - this.a) * this.k;
  }

  invert(pixel: number): number {
    const f = this.k === 0 ? this.a : this.a + (pixel - this.low) / this.k;
    if (this.axis.scale === "log") return 10 ** f;
    if (this.axis.scale === "percentile") return 1 - 10 ** -f;
    return f;
  }

  /** The unit that labels of ticks leave out, since all have the same. */
  get unit(): string {
    const { scale } = this.axis;
    if (scale === "category" || scale === "percentile" || scale === "log" || isDate(this.axis, this.from)) return "";
    return this.step.name;
  }

  private get step(): Step {
    const unit = this.axis.scale === "time" && !this.axis.unit ? "s" : this.axis.unit;
    return unitFor(Math.max(Math.abs(this.from), Math.abs(this.to)), unit);
  }

  ticks(count: number): Tick[] {
    const { scale } = this.axis;
    if (!Number.isFinite(this.from) || !Number.isFinite(this.to)) return [];
    if (scale === "category") return this.categoryTicks();
    if (scale === "log") return this.logTicks(count);
    if (scale === "percentile") return this.percentileTicks();
    if (isDate(this.axis, this.from)) return this.dateTicks(count);
    const { factor } = this.step;
    const from = this.from / factor;
    const to = this.to / factor;
    if (!(to > from)) return [{ value: this.from, label: digits(from) }];
    const step = Math.max(niceStep(to - from, count), scale === "count" && factor === 1 ? 1 : 0);
    const ticks: Tick[] = [];
    const decimals = Math.min(12, Math.max(0, -Math.floor(Math.log10(step) + 1e-9)));
    for (let i = Math.ceil(from / step - 1e-9); i * step <= to + step * 1e-9 && ticks.length < 100; i++) {
      const v = i * step;
      ticks.push({ value: v * factor, label: Math.abs(v) >= 1e6 ? digits(v) : String(Number(v.toFixed(decimals))) });
    }
    return ticks;
  }

  private categoryTicks(): Tick[] {
    const names = this.axis.categories ?? [];
    const first = Math.max(0, Math.ceil(this.from));
    const last = Math.min(names.length - 1, Math.floor(this.to));
    return names.slice(first, last + 1).map((label, i) => ({ value: first + i, label }));
  }

  private logTicks(count: number): Tick[] {
    const bytes = this.axis.unit === "B" || this.axis.unit === "B/s";
    const base = bytes ? 2 : 10;
    const a = Math.log(this.from) / Math.log(base);
    const b = Math.log(this.to) / Math.log(base);
    const ticks: Tick[] = [];
    const add = (v: number) => {
      if (v >= this.from * 0.9999999 && v <= this.to * 1.0000001) ticks.push({ value: v, label: scaled(v, this.axis.unit) });
    };
    const stride = Math.max(1, Math.ceil((b - a) / Math.max(2, count)));
    for (let e = Math.ceil(a - 1e-9); e <= b + 1e-9; e++) if (e % stride === 0) add(base ** e);
    if (ticks.length >= 2) return ticks;
    ticks.length = 0; // less than a decade
    for (let e = Math.floor(a); e <= b; e++) for (const m of bytes ? [1, 1.25, 1.5, 1.75] : [1, 2, 3, 5, 7]) add(m * base ** e);
    if (ticks.length >= 2) return ticks;
    return [this.from, this.to].map((value) => ({ value, label: scaled(value, this.axis.unit) }));
  }

  private percentileTicks(): Tick[] {
    const all = [0, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999, 0.9999999];
    return all.filter((p) => p >= this.from && p <= this.to).map((value) => ({ value, label: `p${Number((value * 100).toPrecision(9))}` }));
  }

  private dateTicks(count: number): Tick[] {
    const step = calendar.find((s) => (this.to - this.from) / s <= count) ?? niceStep(this.to - this.from, count);
    const ticks: Tick[] = [];
    for (let v = Math.ceil(this.from / step) * step; v <= this.to && ticks.length < 100; v += step)
      ticks.push({ value: v, label: step >= 86400 ? date(v).slice(0, 10) : date(v).slice(5, step < 60 ? 19 : 16) });
    return ticks;
  }
}

/** What an axis spans, so that the least and the greatest value and, if they are sizes, zero are seen. */
export function domain(axis: Axis, range: [number, number] | null, fromZero: boolean): [number, number] {
  if (axis.scale === "category") return [-0.5, Math.max(0.5, (axis.categories?.length ?? 1) - 0.5)];
  if (axis.scale === "percentile") return [0, 1 - (1 - Math.min(0.99999999, Math.max(0.9, range?.[1] ?? 0.99))) / 1.25];
  if (!range) return axis.scale === "log" ? [1, 10] : [0, 1];
  let [from, to] = range;
  if (axis.scale === "log") {
    if (!(to > 0)) return [1, 10];
    if (!(from > 0)) from = to / 1000;
    return from === to ? [from / 2, to * 2] : [from / 1.15, to * 1.15];
  }
  if (from === to) return from === 0 ? [0, 1] : fromZero && from > 0 ? [0, to * 1.1] : [from - Math.abs(from) * 0.1, to + Math.abs(to) * 0.1];
  const pad = (to - from) * 0.05;
  if (fromZero && from >= 0) return [0, to + pad];
  if (fromZero && to <= 0) return [from - pad, 0];
  from -= pad;
  to += pad;
  return Number.isFinite(to - from) ? [from, to] : range;
}
