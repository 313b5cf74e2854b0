// SPDX-License-Identifier: GPL-3.0-or-later
// The page in a browser, with documents of known data. Values are read back from what it downloads and draws.
// node check.mjs [WORDS]: only tests with these words in their name.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { blank, Browser, built, openAll } from "./browser.mjs";
import { empty, everything, fill, huge } from "./fixtures.mjs";

const template = readFileSync(join(built, "report.html"), "utf8");
const browser = await Browser.start({ hasTouch: true });
let files = 0;

async function show(doc, hash = "", html = fill(template, doc)) {
  const file = join(browser.profile, `report-${files++}.html`);
  writeFileSync(file, html);
  const page = await browser.open(file, hash);
  await openAll(page);
  return page;
}

/** Chromium drops a download that follows ten others too quickly, so the button is pressed again. */
async function saved(page, id, kind) {
  const button = page.locator(`#${id} .tools button`, { hasText: kind });
  for (let attempt = 1; ; attempt++) {
    const download = page.waitForEvent("download", { timeout: 3000 }).catch((why) => why);
    await button.click();
    const got = await download;
    if (!(got instanceof Error)) return readFileSync(await got.path());
    if (attempt === 20) throw got;
  }
}

/** The axes of a downloaded SVG, and its marks by the name of the group they stand in. */
async function svg(page, id) {
  const text = (await saved(page, id, "SVG")).toString();
  const read = await page.evaluate((source) => {
    const root = new DOMParser().parseFromString(source, "image/svg+xml").documentElement;
    const groups = {};
    for (const mark of root.querySelectorAll("path, rect, circle, text")) {
      const path = [];
      for (let e = mark.parentElement; e && e !== root; e = e.parentElement) if (e.dataset.name !== undefined) path.unshift(e.dataset.name);
      const attributes = Object.fromEntries([...mark.attributes].map((a) => [a.name, a.value]));
      (groups[path.join("/")] ??= []).push({ tag: mark.tagName, text: mark.textContent, ...attributes });
    }
    return { root: root.tagName, axes: JSON.parse(root.dataset.axes), groups };
  }, text);
  assert.equal(read.root, "svg", `${id}: the SVG is not well-formed`);
  return read;
}

const flat = { linear: (v) => v, count: (v) => v, time: (v) => v, category: (v) => v, log: Math.log10, percentile: (p) => -Math.log10(1 - p) };
const back = { linear: (v) => v, count: (v) => v, time: (v) => v, category: (v) => v, log: (v) => 10 ** v, percentile: (v) => 1 - 10 ** -v };
/** The value at a pixel, as the axes of the file say; and the pixel of a value. */
const value = (a, pixel) => back[a.scale](flat[a.scale](a.from) + ((pixel - a.low) / (a.high - a.low)) * (flat[a.scale](a.to) - flat[a.scale](a.from)));
const pixel = (a, v) => a.low + ((flat[a.scale](v) - flat[a.scale](a.from)) / (flat[a.scale](a.to) - flat[a.scale](a.from))) * (a.high - a.low);
const near = (got, want, what, slack = 1) => assert.ok(Math.abs(got - want) <= slack, `${what}: ${got} instead of ${want}`);
const circles = (marks) => (marks ?? []).filter((m) => m.tag === "circle").map((m) => [Number(m.cx), Number(m.cy)]);
const rects = (marks) => (marks ?? []).filter((m) => m.tag === "rect").map((m) => ["x", "y", "width", "height"].map((k) => Number(m[k])));
const label = (page, id) => page.locator(`#${id} canvas.drawing`).getAttribute("aria-label");
const settled = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 200)))));

function placed(file, name, xs, ys) {
  const dots = circles(file.groups[name]);
  assert.equal(dots.length, xs.length, `${name}: dots`);
  xs.forEach((x, i) => {
    near(dots[i][0], pixel(file.axes.x, x), `${name}: x of point ${i}`);
    near(dots[i][1], pixel(file.axes.y, ys[i]), `${name}: y of point ${i}`);
  });
}

const doc = everything();
const figure = (id) => doc.figures.find((f) => f.id === id);
const page = await show(doc);

const tests = {
  "the template leaves two gaps and forbids the network": async () => {
    for (const marker of ["@TUTTI_TITLE@", "@TUTTI_DOCUMENT@"]) assert.equal(template.split(marker).length, 2);
    assert.ok(template.includes('<meta name="generator" content="tutti">'));
    assert.match(template, /Content-Security-Policy" content="default-src 'none'/);
    assert.ok(template.length < 200000, `${template.length} bytes`);
    const refused = await page.evaluate(() => fetch("https://example.invalid/").then(() => "sent", () => "refused"));
    assert.equal(refused, "refused");
    page.wrong = page.wrong.filter((w) => !/Content Security Policy/.test(w));
  },

  "the answer, warnings, runs and words are told": async () => {
    assert.equal(await page.title(), doc.title);
    assert.equal(await page.locator("h1").innerText(), doc.answer[0]);
    assert.equal(await page.locator(".warnings details").count(), 2);
    await page.locator("#runs > summary").click();
    await page.locator("#runs tbody tr").nth(23).waitFor();
    assert.equal(await page.locator("#runs tbody tr").count(), 24);
    assert.equal(await page.locator("#runs tbody tr").nth(1).locator("code").innerText(), doc.runs[1].repeat);
    assert.match(await page.locator("#runs tbody tr").nth(5).innerText(), /not valid/);
    await page.locator("#words > summary").click();
    assert.match(await page.locator("#words").innerText(), /median runtime with others \/ alone/);
    assert.equal(await page.locator("nav.contents a").count(), doc.figures.length + 8);
    assert.match(await page.locator("footer").innerText(), /tutti 0\.1\.0 \(abc1234\), 2026-11-17/);
  },

  "every kind is drawn, and none is blank": async () => {
    assert.deepEqual(await blank(page), []);
    assert.equal(await page.locator("figure").count(), doc.figures.length);
    assert.equal(new Set(doc.figures.map((f) => f.kind)).size, 10);
  },

  "lines: points, intervals, marks": async () => {
    const file = await svg(page, "slowdown");
    placed(file, "measured", [0, 1, 3, 9], [1, 1.2, 1.6, 2.5]);
    placed(file, "model", [0, 1, 3, 9], [1, 1.15, 1.55, 2.6]);
    assert.ok(file.groups.model.some((m) => m["stroke-dasharray"]), "a prediction is dashed");
    const whisker = file.groups.measured.filter((m) => m.tag === "path")[3].d.match(/[\d.]+/g).map(Number);
    near(whisker[1], pixel(file.axes.y, 2.3), "low");
    near(whisker[3], pixel(file.axes.y, 2.7), "high");
    const [band] = rects(file.groups.marks);
    near(band[1], pixel(file.axes.y, 1.03), "top of the band");
    near(band[3], pixel(file.axes.y, 0.97) - pixel(file.axes.y, 1.03), "height of the band");
    assert.deepEqual(file.groups.marks.filter((m) => m.tag === "text").map((m) => m.text), ["A/A floor", "disk saturated"]);
    assert.ok(file.groups["axis y"].some((m) => m.text === "2.5"), "a tick");
  },

  "lines: missing values leave a gap, columns are read": async () => {
    const file = await svg(page, "rates");
    const path = file.groups.write.find((m) => m.tag === "path").d;
    assert.equal(path.match(/M/g).length, 2, "one gap");
    const [x, y] = path.slice(path.indexOf("M", 1) + 1).split("L")[0].split(" ").map(Number);
    near(value(file.axes.x, x), 22, "where the line goes on", 0.1);
    const f = Math.fround(2e8 + 5e7 * Math.sin(220 / 25));
    assert.ok(value(file.axes.y, y) >= f - 1e6 && value(file.axes.y, y) <= f + 2.1e7, "its value");
  },

  "percentiles and logarithms": async () => {
    const { x, y } = figure("percentiles").series[0];
    placed(await svg(page, "percentiles"), "write", x, y);
    const { series } = figure("dots");
    placed(await svg(page, "dots"), "hdf5", series[2].x, series[2].y);
    const ticks = (await svg(page, "percentiles")).groups["axis x"].filter((m) => m.tag === "text").map((m) => m.text);
    assert.deepEqual(ticks.slice(0, 4), ["p0", "p50", "p90", "p99"]);
    const sizes = (await svg(page, "dots")).groups["axis x"].filter((m) => m.tag === "text").map((m) => m.text);
    assert.ok(sizes.includes("64 KiB") && sizes.includes("1 MiB"), sizes.join());
  },

  "bars and stacks": async () => {
    const bars = await svg(page, "phases");
    const zero = pixel(bars.axes.y, 0);
    figure("phases").series.forEach((s) => {
      rects(bars.groups[s.name]).forEach(([x, y, w, h], i) => {
        near(zero - h, pixel(bars.axes.y, s.y[i]), `${s.name}: height of bar ${i}`);
        near(value(bars.axes.x, x + w / 2), i, "its category", 0.4);
      });
    });
    const stack = await svg(page, "stack");
    const [, , , h] = rects(stack.groups.write)[3];
    const [, y] = rects(stack.groups.sync).at(-1);
    near(h, pixel(stack.axes.y, 0) - pixel(stack.axes.y, 12), "a part of the stack");
    near(y, pixel(stack.axes.y, 33), "the top of the stack");
    assert.equal(rects(stack.groups.sync).length, 3, "a missing part is not drawn");
  },

  "samples: every dot, the density and the median": async () => {
    const file = await svg(page, "samples");
    for (const [g, group] of figure("samples").groups.entries()) {
      const dots = circles(file.groups[group.name]);
      assert.equal(dots.length, 240);
      for (const [x] of dots) near(value(file.axes.x, x), g, "a dot in its group", 0.4);
      const median = file.groups[group.name].filter((m) => m.tag === "path").at(-1).d.match(/[\d.]+/g).map(Number);
      near(median[1], pixel(file.axes.y, group.median), "median");
      const interval = file.groups[group.name].filter((m) => m.tag === "path").at(-2).d.match(/[\d.]+/g).map(Number);
      near(interval[1], pixel(file.axes.y, group.low), "low end of the interval");
      near(interval[3], pixel(file.axes.y, group.high), "high end of the interval");
      assert.ok(file.groups[group.name].some((m) => m.tag === "path" && m.fill !== "none"), "density");
    }
    const rows = (await saved(page, "samples", "CSV")).toString().trim().split("\n");
    const values = rows.slice(1, 241).map((r) => Number(r.split(",")[1]));
    circles(file.groups.alone).forEach(([, y], i) => near(y, pixel(file.axes.y, values[i]), `sample ${i}`));
  },

  "heat: colours of the canvas": async () => {
    const { axes } = await svg(page, "heat");
    const at = (i, j) =>
      page.evaluate(([x, y]) => [...document.querySelector("#heat canvas.drawing").getContext("2d").getImageData(x, y, 1, 1).data], [Math.round(pixel(axes.x, i)), Math.round(pixel(axes.y, j))]);
    const light = ([r, g, b]) => r + g + b;
    const wave = await at(27.3, 6.7); // beside the line that is drawn over it
    const quiet = await at(10, 10);
    assert.ok(light(quiet) - light(wave) > 500, `wave ${wave}, quiet ${quiet}`);
    assert.ok(light(quiet) - light(await at(33.3, 12.7)) > 500, "the other end of the wave");
    assert.equal((await at(7, 3))[3], 0, "a missing cell is empty");
    assert.equal((await at(8, 3))[3], 255);
  },

  "matrix: numbers in cells": async () => {
    const file = await svg(page, "matrix");
    const texts = file.groups.cells.filter((m) => m.tag === "text").map((m) => m.text);
    assert.deepEqual(texts.filter((t) => !t.startsWith("[")), ["1.02", "2.4", "1.1", "1.6", "2", "–", "0.9", "1.3", "1.05"]);
    const fills = file.groups.cells.filter((m) => m.tag === "rect").map((m) => m.fill.match(/\d+/g).map(Number));
    assert.ok(fills[1][0] > fills[1][2] && fills[6][2] > fills[6][0], "above neutral is red, below is blue");
  },

  "panels share their axes": async () => {
    const { axes, groups } = await svg(page, "panels");
    assert.equal(axes.panels.length, 4);
    for (const p of axes.panels) assert.deepEqual([p.x.from, p.x.to, p.y.from, p.y.to], [axes.panels[0].x.from, axes.panels[0].x.to, axes.panels[0].y.from, axes.panels[0].y.to]);
    const dots = circles(groups["panel hdf5/2 ranks"]);
    near(dots[1][1], pixel(axes.panels[2].y, 1.2e8), "a point");
  },

  "tables sort by their heads": async () => {
    const column = () => page.locator("#table tbody tr td:nth-child(2)").allInnerTexts();
    assert.deepEqual(await column(), ["1.5 s", "750 ms", "–"]);
    await page.locator("#table th button", { hasText: "runtime" }).click();
    assert.deepEqual(await column(), ["750 ms", "1.5 s", "–"]);
    await page.locator("#table th button", { hasText: "runtime" }).click();
    assert.deepEqual(await column(), ["1.5 s", "750 ms", "–"]);
    assert.equal(await page.locator("#table th").nth(1).getAttribute("title"), "wall time of the measured part");
    assert.equal((await saved(page, "table", "CSV")).toString(), "backend,runtime (s),slowdown\nposix,1.5,1\nmpiio,0.75,2\nhdf5,,1.25\n");
  },

  "a table tells numbers with the unit of their row": async () => {
    assert.deepEqual(await page.locator("#metrics tbody td").allInnerTexts(), ["write rate", "54.55 MiB/s", "0.5", "runtime", "2.1 ms", "2"]);
    assert.equal((await saved(page, "metrics", "CSV")).toString(), "metric,value,unit,times\nwrite rate,57200000,B/s,0.5\nruntime,0.0021,s,2\n");
  },

  "PNG has the size of the plot, and a picture": async () => {
    const png = await saved(page, "slowdown", "PNG");
    assert.equal(png.subarray(1, 4).toString(), "PNG");
    assert.ok(png.readUInt32BE(16) >= 1600 && png.length > 5000);
  },

  "labels say title and values; the data is a table": async () => {
    assert.match(await label(page, "slowdown"), /^Slowdown over others\. slowdown over others\. measured: 4 points, 1 to 2\.5; model/);
    assert.match(await label(page, "samples"), /alone: 240 samples, median 5\d\.?\d* ms|alone: 240 samples, median 49/);
    for (const c of await page.locator("canvas.drawing").all()) {
      assert.equal(await c.getAttribute("role"), "img");
      assert.ok((await c.getAttribute("aria-label")).length > 30);
    }
    await page.locator("#slowdown .tools button", { hasText: "Data" }).click();
    await page.locator("#slowdown tbody tr").first().waitFor();
    assert.deepEqual((await page.locator("#slowdown tbody tr").nth(3).locator("td").allInnerTexts()).slice(0, 5), ["measured", "9", "2.5", "2.3", "2.7"]);
    for (const mark of ["header", "main", "footer", "nav[aria-label]"]) assert.ok(await page.locator(mark).count(), mark);
    const levels = await page.locator("h1, h2, h3").evaluateAll((all) => all.map((h) => Number(h.tagName[1])));
    levels.forEach((l, i) => assert.ok(i === 0 ? l === 1 : l - levels[i - 1] <= 1, "headings skip no level"));
  },

  "keys move a cursor and announce values": async () => {
    const live = () => page.locator("#live").textContent();
    await page.locator("#slowdown canvas.drawing").focus();
    await page.keyboard.press("ArrowRight");
    assert.match(await live(), /measured, others: 0, slowdown: 1 \[0\.98, 1\.02\]/);
    await page.keyboard.press("End");
    assert.match(await live(), /measured, others: 9, slowdown: 2\.5 \[2\.3, 2\.7\]/);
    await page.keyboard.press("ArrowDown");
    assert.match(await live(), /model, others: 9, slowdown: 2\.6/);
    await page.locator("#matrix canvas.drawing").focus();
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowRight");
    assert.match(await live(), /slowdown: 2\.4 .*the reference: stencil, the others: bulk, six rounds/);
    await page.locator("#heat canvas.drawing").focus();
    await page.keyboard.press("ArrowRight");
    assert.match(await live(), /iteration: 0, rank: 0/);
    await page.locator("#panels canvas.drawing").focus();
    await page.keyboard.press("ArrowRight");
    assert.match(await live(), /posix, 1 ranks, size: 4 KiB/);
  },

  "the pointer finds the nearest point and its run": async () => {
    const { axes } = await svg(page, "dots");
    const box = await page.locator("#dots canvas.drawing").boundingBox();
    await page.mouse.move(box.x + pixel(axes.x, figure("dots").series[1].x[2]) + 2, box.y + pixel(axes.y, figure("dots").series[1].y[2]) - 2);
    const tip = await page.locator("#dots .tip").innerText();
    for (const part of ["mpiio", "point 7", "backend: mpiio", "others: 4"]) assert.ok(tip.includes(part), `${part} in ${tip}`);
    await page.mouse.move(0, 0);
    assert.ok(!(await page.locator("#dots .tip").isVisible()));
    await page.touchscreen.tap(box.x + pixel(axes.x, figure("dots").series[0].x[1]), box.y + pixel(axes.y, figure("dots").series[0].y[1]));
    assert.match(await page.locator("#dots .tip").innerText(), /posix[^]*point 3/);
  },

  "a drag zooms, linked figures with it; a link keeps it": async () => {
    const from = (await svg(page, "rates")).axes;
    await page.locator("#rates canvas.drawing").scrollIntoViewIfNeeded();
    const box = await page.locator("#rates canvas.drawing").boundingBox();
    await page.mouse.move(box.x + pixel(from.x, 10), box.y + 150);
    await page.mouse.down();
    await page.mouse.move(box.x + pixel(from.x, 15), box.y + 151);
    await page.mouse.move(box.x + pixel(from.x, 20), box.y + 152);
    await page.mouse.up();
    await settled(page);
    for (const id of ["rates", "resources"]) {
      const { axes } = await svg(page, id);
      near(axes.x.from, 10, id, 0.2);
      near(axes.x.to, 20, id, 0.2);
    }
    assert.ok(await page.locator("#rates button", { hasText: "Reset zoom" }).isVisible());
    await page.locator(".filter summary", { hasText: "backend" }).click();
    await page.locator(".filter label", { hasText: "hdf5" }).click();
    await page.locator("button.theme").click();
    await settled(page);
    const hash = await page.evaluate(() => location.hash);
    const again = await show(doc, hash);
    const { axes } = await svg(again, "resources");
    near(axes.x.from, 10, "restored", 0.2);
    assert.equal(circles((await svg(again, "dots")).groups.hdf5).length, 0, "the filter is restored");
    assert.equal(await again.evaluate(() => document.documentElement.dataset.theme), "dark");
    assert.deepEqual(again.wrong, []);
    await again.close();
    await page.locator("button.theme").click();
    await page.locator("#rates canvas.drawing").dblclick();
    await page.locator("#show-all").click();
    await settled(page);
    near((await svg(page, "resources")).axes.x.to, from.x.to, "reset", 3);
  },

  "filters take points away, and only where they belong": async () => {
    await page.locator(".filter summary", { hasText: "others" }).click();
    await page.locator(".filter label", { hasText: /^10$/ }).click();
    await settled(page);
    const file = await svg(page, "dots");
    assert.equal(circles(file.groups.posix).length, 6, "six of eight");
    const samples = await svg(page, "samples");
    assert.equal(circles(samples.groups.alone).length, 180);
    assert.ok(!samples.groups.alone.some((m) => m.tag === "path" && m.fill !== "none"), "no density of what is not shown");
    assert.equal(await page.locator("#runs tbody tr:visible").count(), 18);
    assert.ok(await page.locator("#matrix.unfiltered").count(), "the matrix says that it is not filtered");
    assert.match(await page.locator("#live").textContent(), /18 of 24 runs are shown/);
    assert.equal((await saved(page, "dots", "CSV")).toString().trim().split("\n").length, 19);
    await page.locator(".filter summary", { hasText: "others" }).click();
    await page.locator(".filter[open] button", { hasText: "None" }).click();
    assert.match(await page.locator("#live").textContent(), /0 of 24 runs are shown/);
    await settled(page);
    assert.match(await label(page, "dots"), /posix: 0 points, no values/);
    await page.locator("#show-all").click();
    await settled(page);
    assert.equal(circles((await svg(page, "dots")).groups.posix).length, 8);
    await page.evaluate(() => (location.hash = 'without.backend=["posix"]&theme=dark&x.phases=nonsense&without.nothing=1'));
    await settled(page);
    assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark");
    assert.equal(circles((await svg(page, "dots")).groups.posix).length, 0, "a link that is pasted in is followed");
    await page.evaluate(() => (location.hash = ""));
    await settled(page);
    const damaged = await show(doc, "#%zz"); // a link that was cut: the page is still there
    assert.ok((await damaged.locator("figure").count()) > 0);
    await damaged.close();
  },

  "the timeline zooms to a single span": async () => {
    const spans = async () => (await svg(page, "timeline")).groups["rank 3"].filter((m) => m.tag === "rect" && m.width !== undefined && Number(m.height) < 20);
    const canvas = page.locator("#timeline canvas.drawing");
    await canvas.scrollIntoViewIfNeeded();
    await canvas.focus();
    for (let i = 0; i < 8; i++) await page.keyboard.press("+");
    await settled(page);
    let { axes } = await svg(page, "timeline");
    near(axes.x.to - axes.x.from, 4 / 256, "after eight times two", 1e-3);
    const drawn = await spans();
    const first = Math.ceil((axes.x.from - 0.003) / 0.01);
    const start = 0.01 * first + 0.003;
    assert.ok(drawn.some((m) => Math.abs(Number(m.x) - pixel(axes.x, start)) <= 1), "a span where it starts");
    const box = await canvas.boundingBox();
    await page.mouse.move(box.x + pixel(axes.x, start + 0.001), box.y + axes.top + 3.5 * axes.row);
    const tip = await page.locator("#timeline .tip").innerText();
    assert.match(tip, new RegExp(`^(compute|write|wait) ${3 * 400 + first}\\nduration: [2-8]`), tip);
    await page.mouse.move(0, 0);
    await canvas.focus();
    await page.keyboard.press("ArrowRight");
    await settled(page);
    near((await svg(page, "timeline")).axes.x.from, axes.x.from + 0.2 * (4 / 256), "panned", 1e-3);
    await canvas.focus();
    await page.keyboard.press("n");
    assert.match(await page.locator("#live").textContent(), /duration: .* ms, start: .* s, rank \d/);
    await page.keyboard.press("0");
    await settled(page);
    ({ axes } = await svg(page, "timeline"));
    near(axes.x.from, 0, "the whole", 1e-6);
  },

  "dark mode changes colours, of the page and of plots": async () => {
    const corner = () => page.evaluate(() => [getComputedStyle(document.body).backgroundColor, document.querySelector("#phases canvas").toDataURL()]);
    const light = await corner();
    await page.emulateMedia({ colorScheme: "dark" });
    await settled(page);
    const dark = await corner();
    assert.notEqual(light[0], dark[0]);
    assert.notEqual(light[1], dark[1]);
    await page.emulateMedia({ colorScheme: "light" });
    await settled(page);
    assert.deepEqual(await corner(), light);
  },

  "print is light, expanded and without controls": async () => {
    await page.emulateMedia({ media: "print", colorScheme: "dark" });
    await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
    assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), "rgb(255, 255, 255)");
    assert.equal(await page.locator("main details:not([open])").count(), 0);
    assert.ok(!(await page.locator(".bar").isVisible()));
    await page.evaluate(() => dispatchEvent(new Event("afterprint")));
    await page.emulateMedia({ media: "screen", colorScheme: "light" });
  },

  "a narrow screen does not scroll sideways": async () => {
    await page.setViewportSize({ width: 360, height: 780 });
    await settled(page);
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 360);
    assert.deepEqual(await blank(page), []);
    await page.setViewportSize({ width: 1280, height: 900 });
    await settled(page);
  },

  "names with markup, quotes and newlines are harmless": async () => {
    const evil = `</script><img src=x onerror="window.hit=1">"'&\n<!--\u0001]]>`;
    const bad = empty(evil);
    bad.answer = [evil];
    bad.warnings = [{ text: evil, explanation: evil, run: 0 }];
    bad.varied = [evil];
    bad.words = { [evil]: evil };
    bad.metrics = { x: { label: evil, unit: evil, better: "", definition: evil } };
    bad.runs = [{ id: evil, label: evil, start: evil, status: evil, valid: true, keys: { [evil]: evil }, repeat: evil, facts: { [evil]: evil } }];
    const named = { label: evil, unit: evil, scale: "linear" };
    bad.figures = [
      { kind: "lines", id: "lines", group: evil, title: evil, text: evil, notes: [evil], x: named, y: named, series: [{ name: evil, text: evil, x: [1, 2], y: [3, 4], runs: [0, 0] }], marks: [{ axis: "y", from: 3, label: evil }] },
      { kind: "table", id: "table", group: evil, title: evil, text: evil, head: [{ label: evil, unit: evil, number: false }], rows: [[evil]] },
    ];
    const opened = await show(bad);
    assert.equal(await opened.locator("h1").textContent(), evil);
    assert.equal(await opened.locator("#table td").first().textContent(), evil);
    const file = await svg(opened, "lines");
    assert.equal(circles(file.groups[evil.replace("\u0001", "")]).length, 2);
    const text = (await saved(opened, "lines", "CSV")).toString();
    assert.ok(text.includes(`"${evil.replaceAll('"', '""')}",1,3,`), text);
    await opened.locator("#lines canvas.drawing").focus();
    await opened.keyboard.press("ArrowRight");
    await opened.locator(".filter summary").click();
    await opened.locator(".filter label").click();
    await settled(opened);
    assert.equal(await opened.evaluate(() => [window.hit, document.querySelectorAll("img").length].join()), ",0");
    assert.deepEqual(opened.wrong, []);
    await opened.close();
  },

  "nothing, one, huge and missing values": async () => {
    const odd = empty("odd");
    const axis = (scale) => ({ label: "v", unit: "s", scale });
    const xy = (id, kind, x, y, scale = "linear") => ({ kind, id, group: "g", title: id, text: "", x: axis("linear"), y: axis(scale), series: [{ name: "s", x, y }] });
    odd.figures = [
      xy("one", "lines", [1], [5]), xy("none", "lines", [], []), xy("nan", "dots", [1, 2], [null, null]), xy("large", "lines", [0, 1, 2], [-1e308, 1e308, 1e300]),
      xy("small", "bars", [0, 1], [1e-300, 2e-300]), xy("zero", "lines", [0, 1, 2], [0, -1, 10], "log"), xy("same", "dots", [3, 3, 3], [7, 7, 7]), xy("negative", "bars", [0, 1], [-5, -2]),
      { ...xy("no-series", "stack", [], []), series: [] },
      { kind: "samples", id: "sample", group: "g", title: "sample", text: "", y: axis("linear"), groups: [{ name: "one", y: [4], median: 4, low: null, high: null }, { name: "none", y: [], median: null, low: null, high: null }] },
      { kind: "heat", id: "cell", group: "g", title: "cell", text: "", x: axis("linear"), y: axis("linear"), value: axis("log"), nx: 1, ny: 1, x0: 0, dx: 1, y0: 0, dy: 1, cells: [null] },
      { kind: "timeline", id: "spans", group: "g", title: "spans", text: "", tracks: [{ name: "t", rank: 0, first: 0, n: 0 }], kinds: [], start: [], duration: [], spanKind: [], ids: [] },
      { kind: "table", id: "rows", group: "g", title: "rows", text: "", head: [], rows: [] },
      { kind: "panels", id: "no-panels", group: "g", title: "no panels", text: "", panels: [] },
    ];
    odd.figures.push(
      xy("broken", "lines", { column: 0 }, [1]), xy("absent", "lines", { column: 9 }, [1]), xy("uneven", "lines", [1, 2], [1]), { kind: "pie", id: "pie", group: "g", title: "pie", text: "" },
    );
    odd.columns = [{ type: "f64", n: 1, data: "AAAA" }];
    const opened = await show(odd);
    const failures = await opened.locator(".failure").evaluateAll((all) => all.map((e) => `${e.closest("figure").id}: ${e.textContent}`));
    assert.equal(failures.length, 4, failures.join("\n"));
    assert.match(failures[1], /absent: This figure cannot be drawn: there is no column 9/);
    assert.match(failures[3], /pie: .*does not know figures of the kind pie/);
    placed(await svg(opened, "one"), "s", [1], [5]);
    placed(await svg(opened, "zero"), "s", [2], [10]);
    const low = await svg(opened, "negative");
    near(rects(low.groups.s)[0][1] + rects(low.groups.s)[0][3], pixel(low.axes.y, -5), "a bar below zero");
    for (const id of ["one", "none", "nan", "large", "sample", "cell", "spans"]) {
      await opened.locator(`#${id} canvas.drawing`).focus();
      for (const key of ["ArrowRight", "ArrowDown", "End", "+"]) await opened.keyboard.press(key);
      await opened.locator(`#${id} canvas.drawing`).hover();
    }
    assert.match(await label(opened, "none"), /0 points, no values/);
    assert.deepEqual(opened.wrong, []);
    await opened.close();
  },

  "other formats, no data and no figures each have their line": async () => {
    const line = async (html) => {
      const opened = await show(null, "", html);
      const text = await opened.locator(".failure").innerText();
      assert.deepEqual(opened.wrong, []);
      await opened.close();
      return text;
    };
    assert.match(await line(fill(template, { ...empty(), format: 2 })), /has the format 2; this page reads format 1/);
    assert.match(await line(fill(template, "", "x")), /This page has no data/);
    assert.match(await line(fill(template, "{", "x")), /cannot be read/);
    assert.match(await line(fill(template, { format: 1 }, "x")), /lacks answer/);
    assert.match(await line(fill(template, empty())), /nothing to draw/);
  },

  "many marks are drawn per pixel, and few enough for a file": async () => {
    const opened = await show(huge(50000, 100000));
    for (const id of ["samples", "dots", "lines", "timeline"]) {
      const size = (await saved(opened, id, "SVG")).length;
      assert.ok(size > 5000 && size < 8e6, `${id}: ${size} bytes`);
    }
    await opened.locator("#timeline canvas.drawing").focus();
    await opened.keyboard.press("PageDown");
    await settled(opened);
    const below = await svg(opened, "timeline");
    assert.equal(below.axes.scrolled, 10, "ten of 64 tracks further down");
    assert.ok(below.groups["rank 10"] && !below.groups["rank 9"]);
    const { axes, groups } = await svg(opened, "lines");
    const ys = groups.time[0].d.match(/[\d.]+/g).map(Number).filter((_, i) => i % 2);
    near(value(axes.y, Math.min(...ys)), 0.014, "the greatest of all", 1e-4);
    near(value(axes.y, Math.max(...ys)), 0.01, "the least of all", 1e-4);
    assert.deepEqual(opened.wrong, []);
    await opened.close();
  },

  "nothing went wrong on the way": async () => assert.deepEqual(page.wrong, []),
};

let failed = 0;
const only = process.argv[2];
for (const [name, test] of Object.entries(tests)) {
  if (only && !name.includes(only)) continue;
  try {
    await test();
    console.log(`ok: ${name}`);
  } catch (error) {
    failed++;
    console.error(`FAILED: ${name}: ${error.stack}`);
  }
}
await browser.stop();
process.exit(failed ? 1 : 0);
