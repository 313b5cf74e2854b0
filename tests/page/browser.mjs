// SPDX-License-Identifier: GPL-3.0-or-later
// A browser for tests of the page: Debian's chromium, without any network, with an account of what goes wrong.
// $PAGE is the directory of the build tree with the template and npm's packages.
import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

export const built = process.env.PAGE ?? fileURLToPath(new URL("../../build/page", import.meta.url));
const { chromium } = createRequire(join(built, "packages"))("playwright-core");

const options = [
  "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync",
];

export class Browser {
  static async start(context = {}) {
    const browser = new Browser();
    browser.profile = mkdtempSync(join(process.env.TMPDIR ?? tmpdir(), "tutti-page."));
    browser.context = await chromium.launchPersistentContext(browser.profile, {
      executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: options, acceptDownloads: true, viewport: { width: 1280, height: 900 }, ...context,
    });
    return browser;
  }

  /** Opens a file; page.wrong collects console errors, exceptions and requests to anything but files. */
  async open(file, hash = "") {
    const page = await this.context.newPage();
    page.wrong = [];
    page.on("console", (m) => m.type() === "error" && page.wrong.push(`console: ${m.text()}`));
    page.on("pageerror", (e) => page.wrong.push(`exception: ${e.message}`));
    page.on("request", (r) => /^(file|blob|data):/.test(r.url()) || page.wrong.push(`request: ${r.url()}`));
    page.setDefaultTimeout(60000);
    await page.goto(pathToFileURL(file).href + hash);
    return page;
  }

  async stop() {
    await this.context.close();
    rmSync(this.profile, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** Figures that failed or show nothing: a canvas whose pixels are all alike. */
export function blank(page) {
  return page.evaluate(() => {
    const even = (canvas) => {
      const pixels = new Uint32Array(canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.buffer);
      return pixels.every((p) => p === pixels[0]);
    };
    const failures = [...document.querySelectorAll(".failure")].map((e) => e.textContent);
    const empty = [...document.querySelectorAll("figure")].filter((f) => [...f.querySelectorAll("canvas.drawing")].some(even));
    return [...failures, ...empty.map((f) => `figure ${f.id} is blank`)];
  });
}

/** Opens every figure, as scrolling through the page would. */
export async function openAll(page) {
  if (!(await page.evaluate(() => "tutti" in window))) return; // the page says why
  await page.evaluate(() => Promise.all(window.tutti.figures.map((f) => f.load())));
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
}
