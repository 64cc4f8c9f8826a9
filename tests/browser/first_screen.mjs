// Opens a report on a desk and on a phone, and says as one line of JSON what the first screen has, how high and how wide the
// page is on screen and in print, which pair its map shows, and where tooltips are. Argument: the page.
import { createRequire } from 'node:module';

const require = createRequire(process.env.SHAREBENCH_NODE_MODULES + '/');
const { chromium } = require('playwright-core');
const [file] = process.argv.slice(2);
const url = 'file://' + file;

const found = { console: [], requests: [], screens: [] };
const browser = await chromium.launch({ timeout: 120000, executablePath: process.env.CHROMIUM, args: ['--no-sandbox', '--disable-dev-shm-usage'] });

// What is wider than the page, or than the element that shows it.
const overflowing = (page) => page.evaluate(() => {
  const { scrollWidth, clientWidth } = document.documentElement, wide = scrollWidth > clientWidth ? [`page ${scrollWidth} > ${clientWidth}`] : [];
  const cut = [...document.querySelectorAll('header, nav, nav ul, .hero, .hero *, .key, .key *, summary, h3')].filter((one) => one.getClientRects().length && getComputedStyle(one).display !== 'inline' && one.scrollWidth > one.clientWidth + 1 && one.clientWidth > 2);
  return [...wide, ...cut.map((one) => `${one.tagName}.${one.className}: ${one.scrollWidth} > ${one.clientWidth}`)];
});

// Points at a place of a chart; the tooltip's lines, and whether it is within the plot.
async function pointAt(page, figure, x, y) {
  const plot = figure.locator('.plot');
  const box = await plot.boundingBox();
  await page.mouse.move(box.x + box.width * x, box.y + box.height * y);
  await page.mouse.move(box.x + box.width * x + 1, box.y + box.height * y);
  const tip = plot.locator('.tip');
  await tip.waitFor({ state: 'visible', timeout: 60000 });
  return plot.evaluate((plot) => {
    const tip = plot.querySelector('.tip'), outer = tip.parentElement.getBoundingClientRect(), own = plot.getBoundingClientRect();
    const isWithin = outer.left >= own.left - 1 && outer.right <= own.right + 1 && outer.top >= own.top - 1 && outer.bottom <= own.bottom + 1;
    return { kind: plot.closest('figure').dataset.kind, lines: tip.children.length, height: tip.clientHeight, is_within: isWithin, text: tip.textContent };
  });
}

for (const [name, width, height] of [['desk', 1440, 900], ['phone', 390, 844]]) {
  const page = await browser.newPage({ viewport: { width, height }, colorScheme: 'light', reducedMotion: 'reduce' });
  page.on('console', (message) => found.console.push(message.text()));
  page.on('pageerror', (error) => found.console.push(String(error.stack ?? error)));
  page.on('request', (request) => { if (request.url() !== url) found.requests.push(request.url()); });
  await page.goto(url);
  await page.locator('.map svg').first().waitFor({ state: 'attached', timeout: 60000 });
  const screen = await page.evaluate(() => {
    const bottom = (selector) => { const one = document.querySelector(selector); return one ? Math.round(one.getBoundingClientRect().bottom) : null; };
    return {
      verdict: bottom('.claim'), confidence: bottom('.confidence'), bars: bottom('.bars'), light: bottom('.light'), claim: document.querySelector('.claim')?.textContent,
      map_top: Math.round(document.querySelector('.map')?.getBoundingClientRect().top), pair: document.querySelector('.map figure').dataset.pair, height: document.documentElement.scrollHeight,
    };
  });
  screen.name = name;
  screen.overflow = await overflowing(page);
  screen.tips = [];
  const map = page.locator('.map figure');
  await map.scrollIntoViewIfNeeded();
  for (const x of [0.4, 0.95]) screen.tips.push(await pointAt(page, map, x, 0.3));
  await page.evaluate(() => document.querySelectorAll('.folded > details').forEach((details) => { details.open = true; }));
  for (const kind of ['throughput', 'load', 'tail', 'cost']) {
    const figure = page.locator(`figure[data-kind="${kind}"]`).first();
    if (!(await figure.count())) continue;
    await figure.scrollIntoViewIfNeeded();
    await figure.locator('svg').first().waitFor({ state: 'attached', timeout: 60000 });
    screen.tips.push(await pointAt(page, figure, 0.6, 0.3));
  }
  screen.overflow_open = await overflowing(page);
  // The navigation marks the part that a reader has scrolled to.
  await page.locator('#tails').evaluate((part) => part.scrollIntoView({ block: 'start' }));
  await page.locator('nav a[href="#tails"][aria-current]').waitFor({ timeout: 60000 });
  screen.marked = await page.locator('nav a[aria-current]').evaluateAll((links) => links.map((link) => link.hash));
  await page.evaluate(() => document.querySelectorAll('.folded > details').forEach((details) => { details.open = false; }));
  await page.emulateMedia({ media: 'print' });
  // A sheet of A4 at 96 dots per inch, without its margins.
  await page.setViewportSize({ width: 718, height: 1046 });
  await page.evaluate(() => dispatchEvent(new Event('beforeprint')));
  screen.print = await page.evaluate(() => ({
    closed_tests: document.querySelectorAll('.folded > details:not([open])').length, charts: document.querySelectorAll('figure[data-kind] svg').length, figures: document.querySelectorAll('figure[data-kind]').length,
    adjusted: getComputedStyle(document.querySelector('.key .ramp')).printColorAdjust, stated: getComputedStyle(document.querySelector('details:not([open]) > summary'), '::after').content,
  }));
  screen.overflow_print = await overflowing(page);
  found.screens.push(screen);
  await page.close();
}
await browser.close();
console.log(JSON.stringify(found));
