// Opens a report in Chromium, uses it as an impatient reader does, and says as one line of JSON which tasks kept the page
// from answering: the longest of each part, the most CPU that one took, and what the longest was busy with. Argument: the page.
import { createRequire } from 'node:module';

const require = createRequire(process.env.SHAREBENCH_NODE_MODULES + '/');
const { chromium } = require('playwright-core');
const [file] = process.argv.slice(2);

const browser = await chromium.launch({ timeout: 120000, executablePath: process.env.CHROMIUM, args: ['--no-sandbox', '--disable-dev-shm-usage'] });
const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, colorScheme: 'light' });
const page = await context.newPage();
const categories = ['toplevel', 'devtools.timeline', 'disabled-by-default-devtools.timeline', 'blink.user_timing', '__metadata'];
await browser.startTracing(page, { categories });
await page.addInitScript(() => performance.mark('part:open'));
const part = (name) => page.evaluate((named) => { performance.mark('part:' + named); }, name);
const frame = () => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done))));
const quiet = () => page.waitForTimeout(400);

const begun = performance.now();
await page.goto('file://' + file);
await frame();
const opened = performance.now() - begun;
await quiet();

async function wheel(step) {
  const height = await page.evaluate(() => document.documentElement.scrollHeight);
  for (let at = 0; at < height; at += Math.abs(step)) { await page.mouse.wheel(0, step); await frame(); }
}
// Every test and every group of tables, one after the other: a page with all of them open is the largest to scroll.
await part('headings');
for (const summary of await page.locator('.folded > details > summary').all()) { await summary.evaluate((one) => one.click()); await frame(); }
await part('groups');
for (const summary of await page.locator('details.group > summary').all()) { await summary.evaluate((one) => one.click()); await frame(); }
await quiet();
await page.mouse.move(640, 450);
await part('scroll down');
await wheel(400);
await part('scroll up');
await wheel(-1200);
await part('keys');
for (const key of ['End', 'Home', 'PageDown', 'PageDown', 'PageDown']) { await page.keyboard.press(key); await quiet(); }

await part('tables');
for (const id of ['t0', 'times0', 'cost0']) {
  const table = page.locator(`details#${id} > summary`);
  if (await table.count()) { await table.click(); await frame(); }
}
await part('choose');
for (const kind of ['overview', 'throughput', 'ratio', 'tail', 'cost']) {
  const select = page.locator(`figure[data-kind="${kind}"] select`).first();
  if (!(await select.count())) continue;
  await select.scrollIntoViewIfNeeded();
  await select.selectOption({ index: 1 });
  await frame();
}
await part('cell');
await page.evaluate(() => { location.hash = '#cell-0-7'; });
await quiet();
await part('filter');
const filter = page.locator('form.filter input').first();
if (await filter.count()) { await filter.pressSequentially('read'); await quiet(); await filter.fill(''); await quiet(); }
await part('theme');
await page.emulateMedia({ colorScheme: 'dark' });
await quiet();
await part('width');
await page.setViewportSize({ width: 800, height: 900 });
await quiet();
await part('end');
const charts = await page.evaluate(() => ({ all: document.querySelectorAll('figure[data-kind]').length, drawn: document.querySelectorAll('figure[data-kind] svg').length, elements: document.querySelectorAll('*').length }));
const { traceEvents } = JSON.parse(await browser.stopTracing());
await browser.close();

// The thread that runs the page's script is the one that said where parts begin.
const marks = traceEvents.filter((event) => event.name.startsWith('part:') && event.cat.includes('user_timing')).sort((a, b) => a.ts - b.ts);
const own = traceEvents.filter((event) => event.ph === 'X' && event.pid === marks[0].pid && event.tid === marks[0].tid);
const tasks = own.filter((event) => /RunTask$/.test(event.name));
const inner = own.filter((event) => !/RunTask$/.test(event.name) && event.cat.includes('devtools.timeline'));
const ms = (microseconds) => Math.round((microseconds ?? 0) / 100) / 10;

// What takes more than a tenth of a task, the longest first; one within another is named alone.
function within(task) {
  const found = inner.filter((event) => event.ts >= task.ts && event.ts + event.dur <= task.ts + task.dur && event.dur > task.dur / 10).sort((a, b) => b.dur - a.dur);
  return [...new Map(found.map((event) => [event.name, event.dur])).entries()].slice(0, 4).map(([name, dur]) => `${name} ${ms(dur)}`);
}
const parts = marks.slice(0, -1).map((mark, index) => {
  const during = tasks.filter((task) => task.ts + task.dur > mark.ts && task.ts < marks[index + 1].ts).sort((a, b) => b.dur - a.dur);
  const [longest] = during;
  return { part: mark.name.slice(5), longest_ms: ms(longest?.dur), cpu_ms: ms(Math.max(0, ...during.map((task) => task.tdur ?? 0))), above_50_ms: during.filter((task) => task.dur > 50000).length, within: longest ? within(longest) : [] };
});
console.log(JSON.stringify({ opened_ms: Math.round(opened), charts, parts }));
