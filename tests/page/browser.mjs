// A page in a headless Chromium, which notes everything that a page must not do.

import {chromium} from 'playwright-core';

const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium';

export async function startBrowser() {
  // The sandbox needs a user other than root. Only loopback can be reached.
  const args = ['--disable-background-networking', '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1'];
  if (process.getuid() === 0) args.push('--no-sandbox');
  return chromium.launch({executablePath: CHROMIUM, args});
}

/** Opens a node's page and waits for its first overview. `complaints` grows while it is open. */
export async function openPage(browser, url, options = {}) {
  const context = await browser.newContext({viewport: {width: 1280, height: 900}, ...options});
  const page = await context.newPage();
  const complaints = [];
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(`console: ${message.text()}`);
  });
  page.on('pageerror', (error) => complaints.push(`exception: ${error.message}`));
  page.on('request', (request) => {
    if (!request.url().startsWith(`${url}/`)) complaints.push(`request to outside: ${request.url()}`);
    if (request.method() !== 'GET') complaints.push(`a page that only reads sent ${request.method()}`);
  });
  await page.goto(`${url}/`);
  await page.waitForFunction(() => document.body.dataset.health !== 'waiting');
  return {page, complaints, close: () => context.close()};
}

/** A point in a shard's cell, relative to the canvas; `part` 0.5 is its middle. */
export async function cellOf(page, shard, part = 0.5) {
  const {cell, columns, gutter, top} = await page.locator('#grid').evaluate((canvas) => ({...canvas.dataset}));
  return {
    x: Number(gutter) + ((shard % columns) + part) * Number(cell) - 1,
    y: Number(top) + (Math.floor(shard / columns) + part) * Number(cell) - 1,
  };
}

/** The colour of a shard's cell, beside its number, as [red, green, blue]. */
export async function colourOf(page, shard) {
  const at = await cellOf(page, shard, 0.25);
  return page.locator('#grid').evaluate((canvas, {x, y}) => {
    const scale = window.devicePixelRatio;
    const pixel = new OffscreenCanvas(1, 1).getContext('2d');
    pixel.drawImage(canvas, -Math.floor(x * scale), -Math.floor(y * scale));
    return [...pixel.getImageData(0, 0, 1, 1).data].slice(0, 3);
  }, at);
}
