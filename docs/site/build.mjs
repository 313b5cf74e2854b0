// SPDX-License-Identifier: GPL-3.0-or-later
// The documentation as HTML: node build.mjs SOURCE OUT. docs/site/make runs it where the package marked is.
//
// Every page of docs/, the README and CONTRIBUTING become a page beside each other, and docs/index.md is the map: its headings and
// lists are the navigation. Other files that pages link to are copied, so nothing points out of the site but http links, which
// nobody follows unasked. A link or an anchor that leads nowhere, and a page that is not in the map, is a line on stderr and status 1.
import { copyFileSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join, normalize, relative } from "node:path";
import { Marked } from "marked";

const [source, out] = process.argv.slice(2);
const problems = [];
const problem = (text) => problems.push(`site: ${text}`);

// A heading's anchor, as GitHub makes it: links work there and here.
function slugger() {
    const seen = new Map();
    return (text) => {
        const slug = text.toLowerCase().replace(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, "").replace(/ /g, "-");
        const count = seen.get(slug) ?? 0;
        seen.set(slug, count + 1);
        return count ? `${slug}-${count}` : slug;
    };
}

const escape = (text) => text.replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);
const plain = (tokens) => tokens.map((t) => (t.tokens ? plain(t.tokens) : t.type === "codespan" || t.type === "text" || t.type === "escape" ? t.text : "")).join("");
const target = (path) => (path === "docs/index.md" ? "index.html" : `${basename(path, ".md").toLowerCase()}.html`);

const pages = new Map();
for (const path of ["README.md", "CONTRIBUTING.md", ...readdirSync(join(source, "docs")).filter((f) => f.endsWith(".md")).sort().map((f) => `docs/${f}`)])
    pages.set(path, { path, html: target(path), anchors: new Set(), headings: [], copies: [] });

// The first pass finds headings, so that the second can check links to anchors of any page.
for (const page of pages.values()) {
    page.tokens = new Marked().lexer(readFileSync(join(source, page.path), "utf8"));
    const slug = slugger();
    for (const token of page.tokens.filter((t) => t.type === "heading")) {
        token.slug = slug(plain(token.tokens));
        page.anchors.add(token.slug);
        page.headings.push({ text: plain(token.tokens), slug: token.slug, depth: token.depth });
    }
    page.title = page.headings[0]?.text ?? page.path;
    if (!page.headings.length)
        problem(`${page.path} has no heading`);
}

// Where a link of a page leads, as an address within the site; files that are not pages are copied to files/.
function resolve(page, href) {
    if (/^https?:/.test(href))
        return href;
    const [file, anchor] = href.split("#");
    const path = file ? normalize(join(dirname(page.path), decodeURI(file))) : page.path;
    const other = pages.get(path);
    if (other && anchor && !other.anchors.has(anchor))
        problem(`${page.path} links to ${href}, but ${path} has no such heading`);
    if (other)
        return (file ? other.html : "") + (anchor ? `#${anchor}` : "");
    if (path.startsWith("..") || !existsSync(join(source, path))) {
        problem(`${page.path} links to ${href}, which is not there`);
        return "#";
    }
    if (statSync(join(source, path)).isDirectory())
        problem(`${page.path} links to ${href}, which is a directory: name it without a link`);
    else
        page.copies.push(path);
    return `files/${path}`;
}

function render(page) {
    const marked = new Marked({
        renderer: {
            heading({ tokens, depth, slug }) {
                const link = depth > 1 ? ` <a class="anchor" href="#${slug}" aria-label="link to this section">#</a>` : "";
                return `<h${depth} id="${slug}">${this.parser.parseInline(tokens)}${link}</h${depth}>\n`;
            },
            link({ href, tokens }) {
                return `<a href="${escape(resolve(page, href))}">${this.parser.parseInline(tokens)}</a>`;
            },
            image({ href, text }) {
                if (/^https?:/.test(href))
                    problem(`${page.path} shows ${href}, which is not in this tree`);
                return `<img src="${escape(resolve(page, href))}" alt="${escape(text)}">`;
            },
            html({ text }) {
                return /^<!--[^]*-->\s*$/.test(text) ? "" : escape(text);
            },
            table(token) {
                const cell = (c, tag) => `<${tag}>${this.parser.parseInline(c.tokens)}</${tag}>`;
                const row = (cells, tag) => `<tr>${cells.map((c) => cell(c, tag)).join("")}</tr>`;
                return `<div class="wide" tabindex="0"><table><thead>${row(token.header, "th")}</thead><tbody>${token.rows.map((r) => row(r, "td")).join("\n")}</tbody></table></div>\n`;
            },
        },
    });
    return marked.parser(page.tokens);
}

// The map: a heading of docs/index.md and the links below it make a group.
function map() {
    const groups = [];
    const index = pages.get("docs/index.md");
    const links = (tokens, found) => {
        for (const t of tokens ?? []) {
            if (t.type === "link" && !/^https?:/.test(t.href) && t.href.split("#")[0].endsWith(".md"))
                found.push(t);
            links(t.tokens ?? t.items, found);
        }
        return found;
    };
    const mapped = new Set(["docs/index.md"]);
    for (const token of index?.tokens ?? []) {
        if (token.type === "heading" && token.depth === 2)
            groups.push({ title: plain(token.tokens), links: [] });
        else if (groups.length)
            for (const link of links([token], [])) {
                const path = normalize(join("docs", link.href.split("#")[0]));
                if (!mapped.has(path) && pages.has(path))
                    groups.at(-1).links.push({ path, text: plain(link.tokens) });
                mapped.add(path);
            }
    }
    if (!index)
        problem("docs/index.md, the map of all pages, is not there");
    for (const path of pages.keys())
        if (!mapped.has(path))
            problem(`${path} is not in docs/index.md, the map of all pages`);
    return groups;
}

function document(page, body, groups) {
    const item = ({ path, text }) => `<li><a href="${target(path)}"${path === page.path ? ' aria-current="page"' : ""}>${escape(text)}</a></li>`;
    const nav = groups.map((g) => `<h2>${escape(g.title)}</h2><ul>${g.links.map(item).join("")}</ul>`).join("\n");
    const sections = page.headings.filter((h) => h.depth === 2);
    const contents = sections.length > 2 && page.path !== "docs/index.md" ? `<nav class="contents" aria-label="on this page"><ul>${sections.map((h) => `<li><a href="#${h.slug}">${escape(h.text)}</a></li>`).join("")}</ul></nav>` : "";
    const at = body.indexOf("</h1>") + 5;
    return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escape(page.title)}${page.path === "docs/index.md" ? "" : " · tutti"}</title>
<link rel="stylesheet" href="style.css">
<link rel="icon" href="data:,">
</head>
<body>
<a class="skip" href="#content">skip to the text</a>
<details class="menu" open><summary>tutti</summary>
<input id="search" type="search" placeholder="search headings" aria-label="search headings" autocomplete="off">
<ul id="found" aria-live="polite"></ul>
<nav aria-label="all pages"><ul><li><a href="index.html"${page.path === "docs/index.md" ? ' aria-current="page"' : ""}>Documentation</a></li></ul>
${nav}</nav></details>
<main id="content">
${body.slice(0, at)}${contents}${body.slice(at)}
</main>
<script src="search.js"></script>
</body>
</html>
`;
}

const groups = map();
const rendered = [...pages.values()].map((page) => [page, render(page)]);
if (problems.length) {
    console.error(problems.join("\n"));
    process.exit(1);
}
rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
for (const [page, body] of rendered) {
    writeFileSync(join(out, page.html), document(page, body, groups));
    for (const path of page.copies) {
        mkdirSync(dirname(join(out, "files", path)), { recursive: true });
        copyFileSync(join(source, path), join(out, "files", path));
    }
}
copyFileSync(join(source, "docs/site/style.css"), join(out, "style.css"));
const headings = [...pages.values()].flatMap((p) => p.headings.map((h) => [h.text, p.html + (h.depth > 1 ? `#${h.slug}` : ""), h.depth > 1 ? p.title : ""]));
writeFileSync(join(out, "search.js"), `const headings = ${JSON.stringify(headings)};\n${readFileSync(join(source, "docs/site/search.js"), "utf8")}`);
console.log(`${relative(process.cwd(), join(out, "index.html"))}: ${pages.size} pages`);
