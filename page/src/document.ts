// SPDX-License-Identifier: GPL-3.0-or-later
// What `tutti report` embeds into the page, and the page draws. src/report/document.h writes it; nothing in the page
// knows a metric, a phase or a workload by name: labels, units, definitions, directions and colours are data.
//
// A figure says what it shows, and the page how. So the same figures become text, Markdown and CSV without a browser.

/** Numbers: inline, or an index into Document.columns. A missing value is null inline, NaN in a column. */
export type Numbers = (number | null)[] | { column: number };

/** base64 of raw deflate of little-endian numbers. */
export interface Column {
  type: "f64" | "f32" | "u32" | "u8";
  n: number;
  data: string;
}

export interface Document {
  format: 1;
  tutti: { version: string; revision: string };
  made: string; // UTC, ISO 8601
  title: string;
  command: string; // the command that made this report
  answer: string[]; // sentences; the first one is the answer
  warnings: Warning[];
  metrics: { [name: string]: Metric };
  phases: Named[]; // in their order, for legends and hover
  words: { [word: string]: string }; // further words that figures print, explained
  runs: Run[];
  varied: string[]; // keys of Run.keys whose values differ: what can be filtered by
  figures: Figure[]; // in the order of the page
  columns: Column[];
}

export interface Metric {
  label: string;
  unit: string;
  better: "more" | "less" | "";
  definition: string;
}

export interface Named {
  name: string;
  text: string;
  colour: Colour;
}

/** One of the page's palette, by number, so that light, dark and print each have theirs; see palette.ts. */
export type Colour = number;

export interface Warning {
  text: string;
  explanation: string;
  run?: number; // index into Document.runs
}

export interface Run {
  id: string;
  label: string;
  start: string;
  status: string;
  valid: boolean;
  keys: { [key: string]: string };
  repeat: string; // the command that runs it again
  facts: { [name: string]: string }; // provenance: host, kernel, file system, versions, seed ...
}

export interface Axis {
  label: string;
  unit: string; // as in Metric; "" has none
  scale: "linear" | "count" | "log" | "category" | "time" | "percentile"; // count: linear, of whole numbers; percentile: x is p in [0, 1), drawn as log 1/(1-p)
  categories?: string[]; // scale category: x is an index into these
}

/** A line or band across a plot: a limit, a noise floor, a change point. */
export interface Mark {
  axis: "x" | "y";
  from: number;
  to?: number; // a band
  label: string;
}

interface FigureBase {
  id: string; // unique, [a-z0-9-]+; also the anchor
  group: string; // heading of the part of the page it stands in
  title: string;
  text: string; // what it shows, in a sentence or two
  notes?: string[]; // reductions, what is missing and why
}

/** Lines, dots, or both; bars from 0 with kind bars, stacked with kind stack. */
export interface XyFigure extends FigureBase {
  kind: "lines" | "dots" | "bars" | "stack";
  x: Axis;
  y: Axis;
  linked?: string; // figures with the same word zoom together in x
  series: Series[];
  marks?: Mark[];
}

export interface Series {
  name: string;
  text?: string; // on hover
  colour?: Colour;
  x: Numbers;
  y: Numbers;
  low?: Numbers; // interval
  high?: Numbers;
  runs?: Numbers; // index into Document.runs per point, for filters; absent: not filtered
  dashed?: boolean; // predicted, not measured; a line, also among dots
}

/** Every sample as a dot, per group, with its density, median and interval. */
export interface SamplesFigure extends FigureBase {
  kind: "samples";
  y: Axis;
  groups: {
    name: string;
    colour?: Colour;
    y: Numbers;
    runs?: Numbers;
    median: number | null;
    low: number | null;
    high: number | null;
    density?: { y: Numbers; weight: Numbers };
  }[];
}

/** A value per cell, row-major: rows of y, columns of x. */
export interface HeatFigure extends FigureBase {
  kind: "heat";
  x: Axis;
  y: Axis;
  value: Axis;
  nx: number;
  ny: number;
  x0: number; // of the first column, and how far the next is
  dx: number;
  y0: number;
  dy: number;
  cells: Numbers;
  lines?: { name: string; x: [number, number]; y: [number, number] }[]; // e.g. idle waves
}

/** One number per pair of words, with its interval: the interference matrix. */
export interface MatrixFigure extends FigureBase {
  kind: "matrix";
  rows: string[];
  columns: string[];
  rowsAre: string; // "the reference"
  columnsAre: string; // "the others"
  value: Axis;
  cells: { value: number | null; low: number | null; high: number | null; text?: string }[]; // row-major
  neutral: number; // where the colours change sides, 1 for a slowdown
}

/** units: this column has the units of the numbers before it in the row, and is shown with them. */
export interface Head {
  label: string;
  unit: string;
  number: boolean;
  units?: boolean;
}

export interface TableFigure extends FigureBase {
  kind: "table";
  head: Head[];
  rows: (string | number | null)[][];
}

/** Small multiples: the same axes, a panel per value. */
export interface PanelsFigure extends FigureBase {
  kind: "panels";
  panels: XyFigure[];
}

/** Spans of --trace. Spans of a track stand together, in the order of their start. */
export interface TimelineFigure extends FigureBase {
  kind: "timeline";
  tracks: { name: string; rank: number; first: number; n: number }[]; // its spans: first .. first + n - 1
  kinds: Named[];
  start: Numbers; // seconds from the common start
  duration: Numbers; // seconds
  spanKind: Numbers; // index into kinds
  ids: Numbers;
}

export type Figure =
  | XyFigure
  | SamplesFigure
  | HeatFigure
  | MatrixFigure
  | TableFigure
  | PanelsFigure
  | TimelineFigure;
