// SPDX-License-Identifier: GPL-3.0-or-later
// How soon a report of half a million samples and a million spans is there, and how soon it is drawn again:
// PAGE=BUILD/page node bench/page.mjs, one line a figure: name and milliseconds, the median of nine.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Browser, built, openAll } from "../tests/page/browser.mjs";
import { fill, huge } from "../tests/page/fixtures.mjs";

const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1];
const browser = await Browser.start();
try {
  const file = join(browser.profile, "huge.html");
  writeFileSync(file, fill(readFileSync(join(built, "report.html"), "utf8"), huge(500000, 1000000)));
  const opened = [];
  let page;
  for (let i = 0; i < 3; i++) {
    const began = performance.now();
    await page?.close();
    page = await browser.open(file);
    await page.waitForFunction(() => document.querySelector("#samples canvas")?.getAttribute("aria-label").includes("median"));
    opened.push(performance.now() - began);
  }
  console.log(`open ${median(opened).toFixed(0)}`);
  await openAll(page);
  // Reading a pixel waits until the browser has painted what it was told to draw.
  await page.evaluate(() => {
    window.redraw = (id) => {
      const began = performance.now();
      window.tutti.figure(id).draw();
      document.querySelector(`#${id} canvas.drawing`).getContext("2d").getImageData(0, 0, 1, 1);
      return performance.now() - began;
    };
  });
  for (const id of ["samples", "dots", "lines", "timeline"])
    console.log(`${id} ${median(await page.evaluate((name) => Array.from({ length: 9 }, () => window.redraw(name)), id)).toFixed(1)}`);
  // From the whole down to a single span: the slowest of nine steps, each the median of five.
  const zoomed = await page.evaluate(() =>
    Array.from({ length: 9 }, (_, i) => {
      const half = 78.125 / 4 ** i;
      window.tutti.view.setRange("x.timeline", [78 - half, 78 + half]);
      return Array.from({ length: 5 }, () => window.redraw("timeline"));
    }));
  console.log(`zoom ${Math.max(...zoomed.map(median)).toFixed(1)}`);
  if (page.wrong.length) throw new Error(page.wrong.join("\n"));
} finally {
  await browser.stop();
}
