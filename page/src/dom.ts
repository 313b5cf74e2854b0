// SPDX-License-Identifier: GPL-3.0-or-later
// Elements. Text of a document only ever becomes text, never markup.

type Attributes = { [name: string]: string | boolean | ((event: Event) => void) };

export function element<K extends keyof HTMLElementTagNameMap>(
  tag: K, attributes: Attributes = {}, ...children: (Node | string | null)[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(name, value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false) made.setAttribute(name, value);
  }
  for (const child of children) if (child !== null) made.append(child);
  return made;
}

let region: HTMLElement | null = null;
/** Say something to those who do not see. */
export function announce(text: string): void {
  if (!region) {
    region = element("div", { id: "live", class: "unseen", "aria-live": "polite" });
    document.body.append(region);
  }
  region.textContent = text;
}

export function download(name: string, content: Blob): void {
  const link = element("a", { href: URL.createObjectURL(content), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

export function csv(head: string[], rows: Iterable<(string | number | null)[]>): string {
  const cell = (v: string | number | null) => {
    if (v === null || (typeof v === "number" && Number.isNaN(v))) return "";
    const text = String(v);
    return /[",\n\r]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
  };
  let text = head.map(cell).join(",") + "\n";
  for (const row of rows) text += row.map(cell).join(",") + "\n";
  return text;
}
