// SPDX-License-Identifier: GPL-3.0-or-later
// The page around the figures: the answer, warnings, filters, contents, runs, words.
import { Data } from "./data";
import type { Document, Run } from "./document";
import { announce, element } from "./dom";
import { FigureView } from "./figure";
import { View } from "./view";

function read(): Document {
  const text = document.getElementById("tutti-document")?.textContent?.trim();
  if (!text) throw new Error("This page has no data: tutti report writes it.");
  let read: Document;
  try {
    read = JSON.parse(text) as Document;
  } catch (error) {
    throw new Error(`The data of this page cannot be read: ${error instanceof Error ? error.message : "it is not JSON"}`);
  }
  if (read?.format !== 1) throw new Error(`The data of this page has the format ${String(read?.format)}; this page reads format 1.`);
  for (const key of ["answer", "warnings", "runs", "varied", "figures", "columns"] as const)
    if (!Array.isArray(read[key])) throw new Error(`The data of this page lacks ${key}.`);
  return read;
}

const slug = (group: string, i: number) => `group-${i}-${group.toLowerCase().replace(/[^a-z0-9]+/g, "-")}`;

class Page {
  private readonly data: Data;
  private readonly view: View;
  private readonly figures: FigureView[];
  private fillRuns = () => {};
  private readonly rows: { run: number; row: HTMLElement }[] = [];

  constructor(private readonly doc: Document) {
    this.data = new Data(doc);
    this.view = new View(doc);
    this.figures = doc.figures.map((f) => new FigureView(f, this.data, this.view));
    this.filter();
    const main = element("main", { id: "main" }, this.warnings(), ...this.groups(), ...(this.doc.runs.length ? [this.runs()] : []), this.words());
    document.body.append(
      element("a", { class: "skip", href: "#main", click: (e) => { e.preventDefault(); main.setAttribute("tabindex", "-1"); main.focus(); } }, "Skip to the figures"),
      this.header(), this.bar(), this.contents(), main, this.footer(),
    );
    announce("");
    this.follow();
  }

  private header(): HTMLElement {
    const [answer, ...more] = this.doc.answer;
    return element(
      "header", {},
      element("p", { class: "title" }, this.doc.title),
      element("h1", {}, answer ?? this.doc.title),
      ...more.map((s) => element("p", { class: "more" }, s)),
    );
  }

  private warnings(): HTMLElement | null {
    if (!this.doc.warnings.length) return null;
    const one = (w: Document["warnings"][number]) => {
      const run = this.doc.runs.length > 1 ? this.data.run(w.run) : undefined;
      const text = run ? `${w.text} (${run.label || run.id})` : w.text;
      return element("details", {}, element("summary", {}, text), element("p", {}, w.explanation));
    };
    const n = this.doc.warnings.length;
    return element("section", { class: "warnings", "aria-labelledby": "warnings" },
      element("h2", { id: "warnings" }, n === 1 ? "One warning" : `${n} warnings`), ...this.doc.warnings.map(one));
  }

  private bar(): HTMLElement {
    const theme = element("button", { class: "theme", "aria-label": "Dark or light", click: () => this.view.toggleTheme() }, "◐ Theme");
    const keys = this.doc.varied.map((key) => this.control(key));
    const all = element("button", { id: "show-all", hidden: true, click: () => this.view.showAll() }, "Show all runs");
    return element("nav", { class: "bar", "aria-label": "Filters" },
      keys.length ? element("span", { class: "label" }, "Filter") : null, ...keys, all, element("span", { class: "space" }), theme);
  }

  /** One key of the runs: a list of its values, to be ticked. */
  private control(key: string): HTMLElement {
    const values = [...new Set(this.doc.runs.map((r) => r.keys[key]).filter((v): v is string => v !== undefined))];
    values.sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
    const boxes = values.map((value) => {
      const box = element("input", { type: "checkbox", change: () => this.view.hide(key, [value], !box.checked) });
      this.view.listen((what) => what === "filter" && tick());
      const tick = () => (box.checked = !this.view.hidden.get(key)?.has(value));
      tick();
      return element("label", {}, box, value === "" ? "(empty)" : value);
    });
    const count = element("span", { class: "count" });
    const tell = () => {
      const hidden = values.filter((v) => this.view.hidden.get(key)?.has(v)).length;
      count.textContent = hidden ? ` ${values.length - hidden} of ${values.length}` : "";
    };
    this.view.listen((what) => what === "filter" && tell());
    tell();
    const all = (name: string, hidden: boolean) => element("button", { class: "plain", click: () => this.view.hide(key, values, hidden) }, name);
    const made = element("details", { class: "filter" }, element("summary", {}, key, count),
      element("div", { class: "values", role: "group", "aria-label": key }, all("All", false), " ", all("None", true), ...boxes));
    document.addEventListener("click", (e) => !made.contains(e.target as Node) && made.removeAttribute("open"));
    made.addEventListener("keydown", (e) => {
      if (e.key === "Escape") made.removeAttribute("open");
    });
    return made;
  }

  private contents(): HTMLElement {
    const link = (id: string, text: string) =>
      element("a", { href: `#${id}`, click: (e) => { e.preventDefault(); this.goTo(id); } }, text);
    const groups = [...new Set(this.doc.figures.map((f) => f.group))];
    const items = groups.map((group, i) =>
      element("li", {}, link(slug(group, i), group || "Figures"),
        element("ol", {}, ...this.doc.figures.filter((f) => f.group === group).map((f) => element("li", {}, link(f.id, f.title))))));
    return element("nav", { class: "contents", "aria-label": "Contents" },
      element("details", { open: matchMedia("(min-width: 1100px)").matches }, element("summary", {}, "Contents"), element("ol", {}, ...items, ...(this.doc.runs.length ? [element("li", {}, link("runs", "Runs"))] : []))));
  }

  private goTo(id: string): void {
    const quiet = matchMedia("(prefers-reduced-motion: reduce)").matches;
    document.getElementById(id)?.scrollIntoView({ behavior: quiet ? "auto" : "smooth" });
    this.view.goTo(id);
  }

  private groups(): HTMLElement[] {
    if (!this.figures.length)
      return [element("p", { class: "failure", role: "alert" }, "There is nothing to draw: the runs of this report have no figures.")];
    return [...new Set(this.doc.figures.map((f) => f.group))].map((group, i) => {
      const id = slug(group, i);
      const members = this.figures.filter((f) => f.figure.group === group).map((f) => f.element);
      return element("section", { "aria-labelledby": id }, element("h2", { id }, group || "Figures"), ...members);
    });
  }

  private runs(): HTMLElement {
    const { runs, varied } = this.doc;
    const row = (run: Run, i: number) => {
      const copy = element("button", { class: "plain", "aria-label": `Copy the command of ${run.label || run.id}` }, "Copy");
      copy.addEventListener("click", () => void this.copy(run.repeat, copy));
      const facts = Object.entries(run.facts).flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]);
      const made = element("tr", {},
        element("td", {}, run.label || run.id, element("div", { class: "small" }, run.start)),
        ...varied.map((k) => element("td", {}, run.keys[k] ?? "–")),
        element("td", {}, run.valid ? run.status : `${run.status}, not valid`),
        element("td", { class: "command" }, element("code", {}, run.repeat), run.repeat ? copy : null,
          facts.length ? element("details", {}, element("summary", {}, "Provenance"), element("dl", {}, ...facts)) : null));
      this.rows.push({ run: i, row: made });
      return made;
    };
    const head = ["Run", ...varied, "Status", "Command to repeat it"].map((h) => element("th", { scope: "col" }, h));
    const made = element("details", { id: "runs" }, element("summary", {}, element("h2", {}, `${runs.length} ${runs.length === 1 ? "run" : "runs"}`)));
    // Thousands of rows cost more than the rest of the page: they are made when they are asked for.
    this.fillRuns = () => {
      if (this.rows.length) return;
      made.append(element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Runs" },
        element("table", {}, element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...runs.map(row)))));
      this.filter();
    };
    made.addEventListener("toggle", this.fillRuns);
    return element("section", { "aria-label": "Runs" }, made);
  }

  private async copy(text: string, button: HTMLElement): Promise<void> {
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch {
      const code = button.previousElementSibling;
      if (code) getSelection()?.selectAllChildren(code);
      button.textContent = "Selected";
    }
    announce(button.textContent);
    setTimeout(() => (button.textContent = "Copy"), 2000);
  }

  private words(): HTMLElement | null {
    const better = { more: "; more is better", less: "; less is better", "": "" };
    const metrics = Object.values(this.doc.metrics ?? {}).map((m) =>
      [m.label, `${m.definition}${m.unit && m.unit !== "1" ? ` (${m.unit}${better[m.better] ?? ""})` : ""}`] as const);
    const phases = (this.doc.phases ?? []).map((p) => [p.name, p.text] as const);
    const all = [...metrics, ...phases, ...Object.entries(this.doc.words ?? {})];
    if (!all.length) return null;
    return element("section", { "aria-label": "Words" },
      element("details", { id: "words" }, element("summary", {}, element("h2", {}, "What the words mean")),
        element("dl", { class: "words" }, ...all.flatMap(([word, text]) => [element("dt", {}, word), element("dd", {}, text)]))));
  }

  private footer(): HTMLElement {
    const { tutti, made, command } = this.doc;
    return element("footer", {}, element("code", {}, command),
      element("p", {}, `tutti ${tutti?.version ?? ""} (${tutti?.revision ?? ""}), ${made}`));
  }

  /** Which runs pass; a run without a key is not filtered by it. */
  private filter(): void {
    this.data.version++;
    this.doc.runs.forEach((run, i) => {
      const hidden = [...this.view.hidden].some(([key, values]) => run.keys[key] !== undefined && values.has(run.keys[key]!));
      this.data.shown[i] = hidden ? 0 : 1;
    });
    for (const { run, row } of this.rows) row.hidden = this.data.shown[run] === 0;
    const all = document.getElementById("show-all");
    if (all) all.hidden = this.view.hidden.size === 0;
  }

  private follow(): void {
    this.view.listen((what, key) => {
      if (what === "filter") {
        this.filter();
        const n = this.data.shown.reduce((sum, v) => sum + v, 0);
        announce(`${n} of ${this.doc.runs.length} runs are shown`);
      }
      for (const f of this.figures)
        if (this.view.printing) f.draw();
        else if (what !== "zoom" || f.hasZoom(key)) f.redraw();
    });
    this.filter();
    const near = new IntersectionObserver((entries) => {
      for (const e of entries) if (e.isIntersecting) {
        near.unobserve(e.target);
        void this.figures.find((f) => f.element === e.target)?.load();
      }
    }, { rootMargin: "600px" });
    for (const f of this.figures) near.observe(f.element);
    void this.openRest();
    let closed: HTMLDetailsElement[] = [];
    addEventListener("beforeprint", () => {
      this.fillRuns();
      closed = [...document.querySelectorAll<HTMLDetailsElement>("main details:not([open])")];
      for (const d of closed) d.open = true;
      this.view.print(true);
    });
    addEventListener("afterprint", () => {
      for (const d of closed) d.open = false;
      this.view.print(false);
    });
    if (this.view.at) document.getElementById(this.view.at)?.scrollIntoView();
  }

  /** What is far from the screen is opened when there is time, so that printing finds it. */
  private async openRest(): Promise<void> {
    const idle = () => new Promise<void>((done) => (window.requestIdleCallback ?? ((f: () => void) => setTimeout(f, 50)))(() => done()));
    await new Promise((done) => setTimeout(done, 1000));
    for (const f of this.figures) {
      await idle();
      await f.load();
    }
  }

  /** For tests and bench/page.mjs. */
  figure(id: string): FigureView | undefined {
    return this.figures.find((f) => f.figure.id === id);
  }
}

try {
  Object.assign(window, { tutti: new Page(read()) });
} catch (error) {
  const why = error instanceof Error ? error.message : String(error);
  document.body.append(element("main", {}, element("p", { class: "failure", role: "alert" }, why)));
}
