// SPDX-License-Identifier: GPL-3.0-or-later
// What a reader has chosen: theme, filters, zoom. All of it stands in the address, so that a link keeps it.
import type { Document } from "./document";
import { themes, type Theme } from "./palette";
import type { Range } from "./plot";

export class View {
  readonly hidden = new Map<string, Set<string>>(); // values of varied keys that are filtered away
  private readonly ranges = new Map<string, Range>(); // "x.FIGURE", "y.FIGURE", "x.~WORD" of linked figures
  private choice: "light" | "dark" | null = null;
  private readonly listeners: ((what: "theme" | "filter" | "zoom", key: string) => void)[] = [];
  private readonly system = matchMedia("(prefers-color-scheme: dark)");
  at = ""; // the figure that a link points to
  printing = false;

  constructor(private readonly document: Document) {
    this.read();
    this.paint();
    this.system.addEventListener("change", () => {
      this.paint();
      this.tell("theme", "");
    });
    addEventListener("hashchange", () => {
      this.read();
      this.paint();
      this.tell("filter", "");
      this.tell("theme", "");
    });
  }

  listen(listener: (what: "theme" | "filter" | "zoom", key: string) => void): void {
    this.listeners.push(listener);
  }
  private tell(what: "theme" | "filter" | "zoom", key: string): void {
    for (const listener of this.listeners) listener(what, key);
  }

  get theme(): Theme {
    if (this.printing) return themes.light;
    return themes[this.choice ?? (this.system.matches ? "dark" : "light")];
  }
  private paint(): void {
    window.document.documentElement.dataset.theme = this.theme.name;
  }
  print(printing: boolean): void {
    this.printing = printing;
    this.paint();
    this.tell("theme", "");
  }
  toggleTheme(): void {
    const other = this.theme.name === "dark" ? "light" : "dark";
    this.choice = other === (this.system.matches ? "dark" : "light") ? null : other;
    this.paint();
    this.write();
    this.tell("theme", "");
  }

  hide(key: string, values: string[], hidden: boolean): void {
    const all = this.hidden.get(key) ?? new Set();
    for (const value of values)
      if (hidden) all.add(value);
      else all.delete(value);
    if (all.size) this.hidden.set(key, all);
    else this.hidden.delete(key);
    this.write();
    this.tell("filter", key);
  }
  showAll(): void {
    this.hidden.clear();
    this.write();
    this.tell("filter", "");
  }

  range(key: string): Range | undefined {
    return this.ranges.get(key);
  }
  setRange(key: string, range: Range | undefined): void {
    if (range) this.ranges.set(key, range);
    else this.ranges.delete(key);
    this.write();
    this.tell("zoom", key);
  }

  goTo(figure: string): void {
    this.at = figure;
    this.write();
  }

  private timer = 0;
  private write(): void {
    // Browsers limit how often the address may change, and panning changes it with every frame.
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => {
      const words = new URLSearchParams();
      if (this.choice) words.set("theme", this.choice);
      for (const [key, values] of this.hidden) words.set(`without.${key}`, JSON.stringify([...values]));
      for (const [key, range] of this.ranges) words.set(key, range.join(" "));
      if (this.at) words.set("at", this.at);
      history.replaceState(null, "", `#${words.toString()}`);
    }, 150);
  }

  /** What cannot be read, or is not in this document, is left out. */
  private read(): void {
    this.choice = null;
    this.hidden.clear();
    this.ranges.clear();
    const hash = location.hash.slice(1);
    const words = new URLSearchParams(hash);
    if (hash && !hash.includes("=")) this.at = [...words.keys()][0] ?? ""; // unlike decodeURIComponent it never throws
    for (const [key, value] of words) {
      if (key === "theme" && (value === "light" || value === "dark")) this.choice = value;
      else if (key === "at") this.at = value;
      else if (/^[xy]\./.test(key)) {
        const [from, to] = value.split(" ").map(Number);
        if (Number.isFinite(from) && Number.isFinite(to) && from! < to!) this.ranges.set(key, [from!, to!]);
      } else if (key.startsWith("without.") && this.document.varied.includes(key.slice(8))) {
        try {
          const values: unknown = JSON.parse(value);
          if (Array.isArray(values)) this.hidden.set(key.slice(8), new Set(values.map(String)));
        } catch {
          continue;
        }
      }
    }
  }
}
