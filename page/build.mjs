// SPDX-License-Identifier: GPL-3.0-or-later
// Bundles the page into one template, and that into C: node build.mjs PAGE OUT
// PAGE is this directory; OUT gets report.html and page_template.c. src/report/page.h says how the template is filled.
// Not beside its sources: it runs from a directory with node_modules, which the build keeps out of the source tree.
import { buildSync } from "esbuild";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const [page, out] = process.argv.slice(2);
const bundle = (entry) =>
  buildSync({
    entryPoints: [join(page, entry)],
    bundle: true,
    minify: true,
    write: false,
    format: "iife",
    target: "es2022",
    charset: "utf8",
    legalComments: "none",
  }).outputFiles[0].text.trim();

const script = bundle("src/page.ts");
if (/<\/script|<!--/i.test(script)) throw new Error("the script would end its own element");
const template = readFileSync(join(page, "template.html"), "utf8")
  .replace("/*STYLE*/", () => bundle("style.css"))
  .replace("/*SCRIPT*/", () => script);
for (const marker of ["@TUTTI_TITLE@", "@TUTTI_DOCUMENT@"])
  if (template.split(marker).length !== 2) throw new Error(`${marker} is not there exactly once`);
writeFileSync(join(out, "report.html"), template);

const bytes = Buffer.from(template);
let list = "";
for (let i = 0; i < bytes.length; i += 24) list += `    ${[...bytes.subarray(i, i + 24)].join(",")},\n`;
writeFileSync(
  join(out, "page_template.c"),
  `/* Written by page/build.mjs. */\n#include "report/page.h"\n\n` +
    `const char tt_page_template[] = {\n${list.replace(/\b(12[89]|1[3-9]\d|2\d\d)\b/g, (b) => String(b - 256))}    0};\n` +
    `const size_t tt_page_template_size = sizeof tt_page_template - 1;\n`,
);
