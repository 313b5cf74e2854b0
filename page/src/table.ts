// SPDX-License-Identifier: GPL-3.0-or-later
// Tables: those of the document, sorted by a click on a head, and the data behind a plot.
import type { Head, TableFigure } from "./document";
import { element } from "./dom";
import type { Cell } from "./plot";
import { show } from "./scale";

const most = 200; // rows at first

function order(a: Cell, b: Cell): number {
  if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1; // what is missing comes last
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a).localeCompare(String(b), "en", { numeric: true });
}

/** words: explanations by label. */
export function table(title: string, head: Head[], rows: Cell[][], words: { [word: string]: string }): HTMLElement {
  const body = element("tbody");
  let sorted = rows;
  let limit = most;
  const units = head.findIndex((h) => h.units);
  const cell = (row: Cell[], column: Head, i: number) => {
    const v = row[i];
    const missing = v === null || v === undefined || (typeof v === "number" && Number.isNaN(v));
    const text = missing ? "–" : typeof v === "number" ? show(v, i < units ? String(row[units] ?? "") : column.unit) : v;
    return element("td", column.number ? { class: "number" } : {}, text);
  };
  const cells = (row: Cell[]) => head.flatMap((h, i) => (h.units ? [] : [cell(row, h, i)]));
  const more = element("button", { class: "plain", click: () => { limit = Infinity; fill(); } });
  const fill = () => {
    body.replaceChildren(...sorted.slice(0, limit).map((row) => element("tr", {}, ...cells(row))));
    more.hidden = rows.length <= limit;
    more.textContent = `Show all ${rows.length} rows`;
  };
  const heads = head.flatMap((column, i) => {
    if (column.units) return [];
    const sort = () => {
      const down = th.getAttribute("aria-sort") === "ascending";
      heads.forEach((h) => h.removeAttribute("aria-sort"));
      th.setAttribute("aria-sort", down ? "descending" : "ascending");
      sorted = [...rows].sort((a, b) => order(a[i] ?? null, b[i] ?? null) * (down && a[i] !== null && b[i] !== null ? -1 : 1));
      fill();
    };
    const words_ = words[column.label];
    const th = element("th", { scope: "col", ...(column.number && { class: "number" }), ...(words_ && { title: words_ }) });
    th.append(element("button", { class: "sort", click: sort }, column.label));
    return [th];
  });
  fill();
  const grid = element("table", {}, element("caption", { class: "unseen" }, title), element("thead", {}, element("tr", {}, ...heads)), body);
  return element("div", {}, element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": title }, grid), more);
}

export const tableOf = (figure: TableFigure, words: { [word: string]: string }) => table(figure.title, figure.head, figure.rows, words);

/** The first rows behind a plot. */
export function dataTable(title: string, head: string[], rows: Iterable<Cell[]>): HTMLElement {
  const first: Cell[][] = [];
  let n = 0;
  for (const row of rows) if (n++ < 1000) first.push(row);
  const columns = head.map((label, i) => ({ label, unit: "", number: first.some((row) => typeof row[i] === "number") }));
  const plain = first.map((row) => row.map((v) => (typeof v === "number" && !Number.isNaN(v) ? String(v) : v)));
  const made = table(`Data of ${title}`, columns, plain, {});
  if (n > first.length) made.append(element("p", { class: "note" }, `The first ${first.length} of ${n} rows; CSV has them all.`));
  return made;
}
