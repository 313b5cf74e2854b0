// SPDX-License-Identifier: GPL-3.0-or-later
// Documents of known data, as src/report would write them, and the page around them.
import { deflateRawSync } from "node:zlib";

/** A deflated column of doc, by its number. */
export function column(doc, type, values) {
  const make = { f64: Float64Array, f32: Float32Array, u32: Uint32Array, u8: Uint8Array }[type];
  const typed = make.from(values);
  doc.columns.push({ type, n: typed.length, data: deflateRawSync(Buffer.from(typed.buffer)).toString("base64") });
  return { column: doc.columns.length - 1 };
}

export function fill(template, doc, title = doc?.title ?? "") {
  const escaped = title.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);
  const json = typeof doc === "string" ? doc : JSON.stringify(doc).replace(/</g, "\\u003c");
  return template.replace("@TUTTI_TITLE@", () => escaped).replace("@TUTTI_DOCUMENT@", () => json);
}

export function empty(title = "nothing") {
  return {
    format: 1, tutti: { version: "0.1.0", revision: "abc1234" }, made: "2026-11-17T20:00:00Z", title, command: `tutti report --label "${title}"`,
    answer: [], warnings: [], metrics: {}, phases: [], words: {}, runs: [], varied: [], figures: [], columns: [],
  };
}

/** A number in 0 .. 1, always the same for the same i. */
export const noise = (i) => {
  const x = Math.sin(i * 12.9898 + 78.233) * 43758.5453;
  return x - Math.floor(x);
};

const base = (id, group, title, text = "What it shows, in a sentence.") => ({ id, group, title, text });
const axis = (label, unit = "", scale = "linear", categories) => ({ label, unit, scale, ...(categories && { categories }) });

function runs() {
  const backends = ["posix", "mpiio", "hdf5"];
  return Array.from({ length: 24 }, (_, i) => ({
    id: `run-${i}`, label: `point ${i}`, start: "2026-11-17T19:00:00Z", status: "complete", valid: i !== 5,
    keys: { backend: backends[i % 3], others: String(1 + 3 * Math.floor(i / 6)), mode: "async+bg" },
    repeat: `tutti run stencil -n 4 --size 1024 --backend ${backends[i % 3]}`,
    facts: { host: "node7", kernel: "6.1.0", "file system": "ext4", seed: String(i) },
  }));
}

function distribution(doc) {
  const group = (name, shift, n, colour) => {
    const y = Array.from({ length: n }, (_, i) => shift + 0.01 * (noise(i + shift * 1000) + noise(i + 7) + noise(3 * i) - 1.5));
    const ys = Array.from({ length: 41 }, (_, i) => shift - 0.02 + 0.001 * i);
    const sorted = [...y].sort((a, b) => a - b);
    return {
      name, colour, y: column(doc, "f64", y), runs: column(doc, "u32", y.map((_, i) => i % 24)), median: sorted[n >> 1], low: sorted[Math.floor(n * 0.4)], high: sorted[Math.floor(n * 0.6)],
      density: { y: ys, weight: ys.map((v) => Math.exp(-(((v - shift) / 0.006) ** 2))) },
    };
  };
  return { kind: "samples", ...base("samples", "Phases", "Every iteration's write"), y: axis("write", "s"), groups: [group("alone", 0.05, 240, 0), group("with 9 others", 0.09, 240, 1)] };
}

function timeline(doc, tracks, spans) {
  const start = [];
  const duration = [];
  const kind = [];
  const rows = [];
  for (let t = 0; t < tracks; t++) {
    rows.push({ name: `rank ${t}`, rank: t, first: start.length, n: spans });
    for (let i = 0; i < spans; i++) {
      start.push(0.01 * i + 0.001 * t);
      duration.push(0.002 + 0.006 * noise(i + t));
      kind.push(i % 4 === 3 ? 1 : i % 7 === 0 ? 2 : 0);
    }
  }
  return {
    kind: "timeline", ...base("timeline", "Timelines", "Who waits for whom"), tracks: rows,
    kinds: [{ name: "compute", text: "computation", colour: 2 }, { name: "write", text: "a call of write", colour: 0 }, { name: "wait", text: "waiting for others", colour: 1 }],
    start: column(doc, "f64", start), duration: column(doc, "f64", duration), spanKind: column(doc, "u8", kind), ids: column(doc, "u32", start.map((_, i) => i)),
  };
}

/** Every kind of figure; the page's tests know its values. */
export function everything() {
  const doc = empty("Ensemble balanced on node7");
  doc.answer = [
    "With nine others of its kind the reference is 2.5 × slower [2.3, 2.7]; sync grew most; the disk was saturated.",
    "Between two and four others the disk reaches its limit of 212 MiB/s.",
  ];
  doc.warnings = [
    { text: "The clock drifted by 3 ms", explanation: "Times of different hosts are compared, so a drift moves them against each other." },
    { text: "Only 6 repetitions", explanation: "The interval of a median needs six runs at least.", run: 3 },
  ];
  doc.runs = runs();
  doc.varied = ["backend", "others"];
  doc.metrics = { runtime: { label: "runtime", unit: "s", better: "less", definition: "wall time of the measured part" } };
  doc.phases = [{ name: "sync", text: "waiting until data is safe", colour: 3 }];
  doc.words = { slowdown: "median runtime with others / alone" };
  const others = [0, 1, 3, 9];
  doc.figures = [
    {
      kind: "lines", ...base("slowdown", "Slowdown", "Slowdown over others", "How much slower the reference is beside others; the band is the noise floor."), x: axis("others", "", "count"), y: axis("slowdown", "1"),
      series: [
        { name: "measured", x: others, y: [1, 1.2, 1.6, 2.5], low: [0.98, 1.1, 1.5, 2.3], high: [1.02, 1.3, 1.7, 2.7] },
        { name: "model", x: others, y: [1, 1.15, 1.55, 2.6], dashed: true },
      ],
      marks: [{ axis: "y", from: 0.97, to: 1.03, label: "A/A floor" }, { axis: "x", from: 4, label: "disk saturated" }],
      notes: ["One repetition failed and is left out."],
    },
    {
      kind: "matrix", ...base("matrix", "Slowdown", "Interference matrix"), rows: ["stencil", "bulk", "metadata"], columns: ["stencil", "bulk", "metadata"], rowsAre: "the reference", columnsAre: "the others",
      value: axis("slowdown", "1"), neutral: 1,
      cells: [1.02, 2.4, 1.1, 1.6, 2.0, null, 0.9, 1.3, 1.05].map((v) => ({ value: v, low: v && v - 0.1, high: v && v + 0.1, text: "six rounds" })),
    },
    {
      kind: "bars", ...base("phases", "Phases", "Phases alone and loaded"), x: axis("phase", "", "category", ["compute", "write", "sync", "wait"]), y: axis("median", "s"),
      series: [{ name: "alone", x: [0, 1, 2, 3], y: [0.02, 0.01, 0.004, 0.001], low: [0.019, 0.009, 0.003, 0.0005], high: [0.021, 0.011, 0.005, 0.0015] }, { name: "with 9 others", x: [0, 1, 2, 3], y: [0.022, 0.03, 0.05, 0.002] }],
    },
    {
      kind: "stack", ...base("stack", "Phases", "Where the time goes"), x: axis("others", "", "category", ["0", "1", "3", "9"]), y: axis("time", "s"),
      series: [{ name: "compute", colour: 2, x: [0, 1, 2, 3], y: [10, 10, 11, 12] }, { name: "write", colour: 0, x: [0, 1, 2, 3], y: [3, 4, 6, 12] }, { name: "sync", colour: 3, x: [0, 1, 2, 3], y: [1, 2, null, 9] }],
    },
    distribution(doc),
    {
      kind: "dots", ...base("dots", "Runs", "Runtime of every run"), x: axis("size", "B", "log"), y: axis("write rate", "B/s"),
      series: ["posix", "mpiio", "hdf5"].map((name, b) => {
        const mine = doc.runs.map((r, i) => [r, i]).filter(([r]) => r.keys.backend === name).map(([, i]) => i);
        return { name, x: mine.map((i) => 2 ** (12 + i / 2)), y: mine.map((i) => (b + 1) * 2 ** 27 + i * 2 ** 22), runs: mine };
      }),
    },
    {
      kind: "lines", ...base("rates", "Over time", "Rates over time"), linked: "time", x: axis("time", "s", "time"), y: axis("rate", "B/s"),
      series: [{ name: "write", colour: 0, x: column(doc, "f64", Array.from({ length: 600 }, (_, i) => i / 10)), y: column(doc, "f32", Array.from({ length: 600 }, (_, i) => (i > 200 && i < 220 ? NaN : 2e8 + 5e7 * Math.sin(i / 25) + 2e7 * noise(i)))) }],
    },
    {
      kind: "lines", ...base("resources", "Over time", "CPU under the phases"), linked: "time", x: axis("time", "s", "time"), y: axis("CPU", "%"),
      series: [{ name: "user", x: column(doc, "f64", Array.from({ length: 60 }, (_, i) => i)), y: column(doc, "f32", Array.from({ length: 60 }, (_, i) => 60 + 30 * noise(i))) }],
      marks: [{ axis: "x", from: 20, to: 22, label: "stalled" }],
    },
    {
      kind: "heat", ...base("heat", "Over time", "Waiting, rank by iteration", "Idle waves are diagonals."), x: axis("iteration"), y: axis("rank"), value: axis("waiting", "s"),
      nx: 60, ny: 16, x0: 0, dx: 1, y0: 0, dy: 1,
      cells: column(doc, "f32", Array.from({ length: 960 }, (_, k) => { const [i, j] = [k % 60, Math.floor(k / 60)]; return i === 7 && j === 3 ? NaN : Math.abs(j - (i - 20)) < 1 && i > 24 ? 0.02 : 0.001 * noise(k); })),
      lines: [{ name: "wave from rank 5", x: [25, 35], y: [5, 15] }],
    },
    {
      kind: "lines", ...base("percentiles", "Latency", "Latency percentiles"), x: axis("percentile", "", "percentile"), y: axis("latency", "s", "log"),
      series: [{ name: "write", x: [0, 0.5, 0.9, 0.99, 0.999, 0.9999], y: [2e-5, 5e-5, 1e-4, 1e-3, 2e-2, 0.3] }],
    },
    {
      kind: "panels", ...base("panels", "Study", "Rate over size, by backend"),
      panels: ["posix", "mpiio", "hdf5", "netcdf"].map((name, p) => ({
        kind: "lines", ...base(`panel-${p}`, "", name), x: axis("size", "B", "log"), y: axis("rate", "B/s"),
        series: [1, 2].map((n) => ({ name: `${n} ranks`, x: [4096, 65536, 1048576], y: [1e7 * n, 5e7 * n + p * 1e7, 2e8 * n] })),
      })),
    },
    {
      kind: "table", ...base("table", "Study", "Points"), head: [{ label: "backend", unit: "", number: false }, { label: "runtime", unit: "s", number: true }, { label: "slowdown", unit: "1", number: true }],
      rows: [["posix", 1.5, 1], ["mpiio", 0.75, 2], ["hdf5", null, 1.25]],
    },
    {
      kind: "table", ...base("metrics", "Study", "Metrics"), head: [{ label: "metric", unit: "", number: false }, { label: "value", unit: "", number: true }, { label: "unit", unit: "", number: false, units: true }, { label: "times", unit: "", number: true }],
      rows: [["write rate", 57200000, "B/s", 0.5], ["runtime", 0.0021, "s", 2]],
    },
    timeline(doc, 8, 400),
  ];
  return doc;
}

/** Half a million samples and a million spans, for bench/page.mjs. */
export function huge(samples, spans) {
  const doc = empty("huge");
  doc.answer = ["Half a million samples and a million spans."];
  const y = Array.from({ length: samples }, (_, i) => 0.01 + 0.002 * (noise(i) + noise(i + 0.5)));
  const ys = Array.from({ length: 60 }, (_, i) => 0.01 + i * 0.0001);
  const values = column(doc, "f64", y);
  doc.figures = [
    { kind: "samples", ...base("samples", "Samples", "Samples"), y: axis("time", "s"), groups: [{ name: "all", y: values, median: 0.012, low: 0.0119, high: 0.0121, density: { y: ys, weight: ys.map((v) => 1 - Math.abs(v - 0.012) / 0.003) } }] },
    { kind: "dots", ...base("dots", "Samples", "Samples in their order"), x: axis("sample"), y: axis("time", "s"), series: [{ name: "time", x: column(doc, "u32", y.keys()), y: values }] },
    { kind: "lines", ...base("lines", "Samples", "The same as a line"), x: axis("sample"), y: axis("time", "s"), series: [{ name: "time", x: column(doc, "u32", y.keys()), y: values }] },
    timeline(doc, 64, Math.ceil(spans / 64)),
  ];
  return doc;
}
