// Opens a report in Chromium as its readers do, and says as one line of JSON what became of it.
// Arguments: the page; a directory for pictures ("" for none); the prefix of their names.
import { createRequire } from 'node:module';
import { readFile } from 'node:fs/promises';

const require = createRequire(process.env.SHAREBENCH_NODE_MODULES + '/');
const { chromium } = require('playwright-core');
const axe = await readFile(require.resolve('axe-core/axe.min.js'), 'utf8');
const [file, pictures, prefix] = process.argv.slice(2);
const url = file.includes('://') ? file : 'file://' + file;

const found = { console: [], requests: [], violations: [], figures: [], downloads: 0, problems: [] };
const problem = (text) => found.problems.push(text);

const browser = await chromium.launch({ timeout: 120000, executablePath: process.env.CHROMIUM, args: ['--no-sandbox', '--disable-dev-shm-usage'] });
const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, acceptDownloads: true, colorScheme: 'light', reducedMotion: 'reduce' });
const page = await context.newPage();
page.on('console', (message) => found.console.push(message.text()));
page.on('pageerror', (error) => found.console.push(String(error.stack ?? error)));
page.on('request', (request) => { if (request.url() !== url && !request.url().startsWith('blob:')) found.requests.push(request.url()); });
// Tasks that keep the page from answering while a reader scrolls.
await page.addInitScript(() => { window.longest = 0; new PerformanceObserver((list) => list.getEntries().forEach((entry) => { window.longest = Math.max(window.longest, entry.duration); })).observe({ type: 'longtask' }); });
await page.goto(url);

async function accessible(scheme) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => axe.run(document, { resultTypes: ['violations'] }));
  for (const { id, impact, nodes } of violations) found.violations.push(`${scheme}: ${id} (${impact}): ${nodes.length} such as ${nodes[0].html.slice(0, 160)} ${nodes[0].failureSummary.slice(0, 200)}`);
}
async function drawn(figure) {
  await figure.scrollIntoViewIfNeeded();
  await figure.locator('svg').first().waitFor({ state: 'attached', timeout: 60000 });
}
// By keyboard: a chart that is drawn between press and release of the mouse changes its caption and moves the buttons,
// and a click whose two halves hit different elements reaches neither.
async function download(figure, label) {
  // Chromium drops, without a word, what a page downloads beyond ten files in a second; no reader is that fast.
  await page.waitForTimeout(200);
  const button = figure.getByRole('button', { name: label, exact: false });
  const [file] = await Promise.all([page.waitForEvent('download', { timeout: 120000 }), button.press('Enter')]);
  found.downloads++;
  return readFile(await file.path());
}

// Headings go down by one at most.
const levels = await page.locator('h1, h2, h3, h4').evaluateAll((all) => all.map((heading) => Number(heading.tagName[1])));
levels.reduce((before, level) => { if (level > before + 1) problem(`h${level} follows h${before}`); return level; }, 0);
found.parts = await page.locator('main > section').evaluateAll((all) => all.map((section) => section.id));

// As a reader finds it, and with every test and table open.
await accessible('light');
await page.evaluate(() => document.querySelectorAll('main details').forEach((details) => { details.open = true; }));
await accessible('light, open');
await page.evaluate(() => document.querySelectorAll('main details:not(.folded > details)').forEach((details) => { details.open = false; }));
const figures = await page.locator('figure[data-kind]').all();
for (const figure of figures) {
  const kind = await figure.getAttribute('data-kind');
  await drawn(figure);
  const select = figure.locator('select');
  if (await select.count()) {
    const values = await select.locator('option').evaluateAll((all) => all.map((option) => option.value));
    await select.selectOption(values[values.length - 1]);
  }
  const csv = (await download(figure, 'download the data')).toString();
  const picture = await download(figure, 'download the picture');
  const marks = await figure.locator('svg path').count();
  if (!picture.toString().startsWith('<svg')) problem(`${kind}: no picture but ${picture.subarray(0, 60)}, ${marks} marks`);
  await figure.getByRole('button', { name: 'show the data as a table' }).press('Enter');
  const id = await page.evaluate(() => document.activeElement.closest('details')?.id ?? '');
  if (!id || !(await page.locator(`#${id} tbody tr`).count())) problem(`${kind}: no data table`);
  found.figures.push({ kind, marks, lines: csv.trim().split('\r\n').length });
}

// A cell has a section of its own, from the table by keyboard and from the map by click.
const cell = page.locator('a[href^="#cell-"]').first();
if (await cell.count()) {
  await cell.evaluate((link) => { link.closest('details').open = true; });
  await cell.focus();
  await page.keyboard.press('Enter');
  await page.locator('section.cell h4:focus').waitFor({ timeout: 60000 }).catch(() => problem('a cell of the table leads nowhere'));
  await page.locator('section.cell').getByRole('button', { name: 'close' }).click();
}
const map = page.locator('figure[data-kind="ratio"], figure[data-kind="level"]').first();
if (await map.count()) {
  await drawn(map);
  const box = await map.locator('.plot').boundingBox();
  // The lowest cell of the first column is there in every map.
  await page.mouse.click(box.x + 84, box.y + box.height - 62);
  await page.locator('section.cell h4:focus').waitFor({ timeout: 60000 }).catch(() => problem('a click on the map leads nowhere'));
}
const region = page.locator('a.part[data-comparison]').first();
found.regions = await page.locator('a.part[data-comparison]').count();
if (await region.count()) await region.click();

const filter = page.locator('form.filter').first();
if (await filter.count()) {
  await filter.getByLabel('Tests').fill('no such test');
  const none = await filter.locator('output').textContent();
  await filter.getByLabel('Tests').fill('');
  const all = await filter.locator('output').textContent();
  found.filter = [none, all];
}

// From top to bottom as a reader scrolls.
await page.evaluate(() => { window.longest = 0; scrollTo(0, 0); });
const height = await page.evaluate(() => document.documentElement.scrollHeight);
for (let at = 0; at < height; at += 1500) { await page.mouse.wheel(0, 1500); await page.waitForTimeout(16); }
found.longest_task_ms = Math.round(await page.evaluate(() => window.longest));

async function picture(name, height) {
  if (!pictures) return;
  await page.evaluate(() => { document.querySelectorAll('details[open]').forEach((one) => { one.open = false; }); document.querySelector('section.cell')?.remove(); document.activeElement?.blur(); scrollTo(0, 0); });
  await page.waitForTimeout(150);
  const size = page.viewportSize();
  // Tall enough for what is to be seen; the header that sticks stays at the top.
  await page.setViewportSize({ width: size.width, height });
  await page.waitForTimeout(400);
  await page.screenshot({ path: `${pictures}/${prefix}-${name}.png` });
  await page.setViewportSize(size);
}
await picture('light', 1800);
if (pictures && await page.locator('article:has(figure[data-kind="ratio"])').count()) {
  await page.evaluate(() => document.querySelectorAll('.folded > details').forEach((details) => { details.open = true; }));
  await page.addStyleTag({ content: 'nav { position: static !important }' });
  const last = page.locator('article:has(figure[data-kind="ratio"])').last();
  await last.scrollIntoViewIfNeeded();
  await page.waitForTimeout(800);
  await last.screenshot({ path: `${pictures}/${prefix}-map.png` });
}
await page.emulateMedia({ colorScheme: 'dark' });
await page.waitForTimeout(200);
await accessible('dark');
await picture('dark', 1800);
await page.emulateMedia({ colorScheme: 'light' });
await page.setViewportSize({ width: 390, height: 844 });
await page.waitForTimeout(300);
found.phone_width = await page.evaluate(() => document.documentElement.scrollWidth);
await picture('phone', 1800);
await page.setViewportSize({ width: 1280, height: 900 });
found.pdf_bytes = (await page.pdf({ format: 'A4' })).length;
await browser.close();
console.log(JSON.stringify(found));
