// SPDX-License-Identifier: GPL-3.0-or-later
// The numbers of a document: inline or in deflated columns, which are opened when a figure first needs them.
import type { Column, Document, Numbers, Run } from "./document";

const types = { f64: Float64Array, f32: Float32Array, u32: Uint32Array, u8: Uint8Array };
export type Values = Float64Array | Float32Array | Uint32Array | Uint8Array;

async function inflate(column: Column): Promise<Values> {
  const text = atob(column.data);
  const packed = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) packed[i] = text.charCodeAt(i);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  const bytes = await new Response(stream).arrayBuffer();
  const type = types[column.type];
  if (!type) throw new Error(`a column has the unknown type ${column.type}`);
  if (bytes.byteLength !== column.n * type.BYTES_PER_ELEMENT)
    throw new Error(`a column has ${bytes.byteLength} bytes instead of ${column.n} numbers`);
  return new type(bytes);
}

export class Data {
  private readonly opened = new Map<number, Promise<Values>>();
  /** Which runs pass the filters; a plot asks for each of its points. */
  readonly shown: Uint8Array;
  /** Changes with the filters, so that plots know what they still know. */
  version = 0;

  constructor(readonly document: Document) {
    this.shown = new Uint8Array(document.runs.length).fill(1);
  }

  numbers(numbers: Numbers): Promise<Values> {
    if (Array.isArray(numbers)) return Promise.resolve(Float64Array.from(numbers, (v) => v ?? NaN));
    const column = this.document.columns[numbers.column];
    if (!column) return Promise.reject(new Error(`there is no column ${numbers.column}`));
    let opened = this.opened.get(numbers.column);
    if (!opened) this.opened.set(numbers.column, (opened = inflate(column)));
    return opened;
  }

  async some(numbers: Numbers | undefined): Promise<Values | undefined> {
    return numbers && this.numbers(numbers);
  }

  run(index: number | undefined): Run | undefined {
    return index === undefined ? undefined : this.document.runs[index];
  }

  /** What a point says of its run: the label and the keys that vary. */
  runLines(index: number | undefined): string[] {
    const run = this.run(index);
    if (!run) return [];
    const keys = this.document.varied.filter((k) => run.keys[k] !== undefined).map((k) => `${k}: ${run.keys[k]}`);
    return [run.label || run.id, ...keys, ...(run.valid ? [] : ["not valid"])];
  }
}

/** The first index in values[first, first + n), in ascending order, that is not below v. */
export function lowerBound(values: ArrayLike<number>, v: number, first = 0, n = values.length - first): number {
  let low = first;
  let high = first + n;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle]! < v) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The least and the greatest finite value, or null without any. */
export function extent(...lists: (ArrayLike<number> | undefined)[]): [number, number] | null {
  let low = Infinity;
  let high = -Infinity;
  for (const list of lists) {
    if (!list) continue;
    for (let i = 0; i < list.length; i++) {
      const v = list[i]!;
      if (!Number.isFinite(v)) continue;
      if (v < low) low = v;
      if (v > high) high = v;
    }
  }
  return low <= high ? [low, high] : null;
}

export function median(values: number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}
