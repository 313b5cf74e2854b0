// SPDX-License-Identifier: GPL-3.0-or-later
// Opens reports as a reader would: node open.mjs FILE.html...
// Fails on console errors, requests to a network, figures that cannot be drawn, and blank ones.
import { blank, Browser, openAll } from "./browser.mjs";

const browser = await Browser.start();
let status = 0;
try {
  for (const file of process.argv.slice(2)) {
    const page = await browser.open(file);
    await openAll(page);
    const wrong = [...page.wrong, ...(await blank(page))];
    for (const w of wrong) console.error(`${file}: ${w}`);
    if (wrong.length) status = 1;
    else console.log(`${file}: ${await page.locator("figure").count()} figures: ${await page.locator("h1").innerText()}`);
    await page.close();
  }
} finally {
  await browser.stop();
}
process.exit(status);
