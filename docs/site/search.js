// SPDX-License-Identifier: GPL-3.0-or-later
// Lists headings (build.mjs puts them before this) that have every word typed; on a narrow screen the menu starts closed.
const box = document.getElementById("search");
const found = document.getElementById("found");
if (matchMedia("(max-width: 60rem)").matches) document.querySelector(".menu").open = false;
box.addEventListener("input", () => {
    const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    const hits = words.length ? headings.filter(([text, , page]) => words.every((w) => `${text} ${page}`.toLowerCase().includes(w))) : [];
    found.replaceChildren(
        ...hits.slice(0, 20).map(([text, href, page]) => {
            const item = document.createElement("li");
            const link = document.createElement("a");
            link.href = href;
            link.textContent = page ? `${page}: ${text}` : text;
            item.append(link);
            return item;
        }),
    );
    if (words.length && !hits.length) found.textContent = "no heading has these words";
});
