// Opens the pages of `report --serve` in Chromium and uses their links and forms. Prints one line of JSON: the status of each
// page, the console, the requests and the findings of axe-core. Argument: the address of the list. A page that is rejected ends it.
import { createRequire } from 'node:module';
import { readFile } from 'node:fs/promises';

const require = createRequire(process.env.SHAREBENCH_NODE_MODULES + '/');
const { chromium } = require('playwright-core');
const [url] = process.argv.slice(2);

const axe = await readFile(require.resolve('axe-core/axe.min.js'), 'utf8');
const browser = await chromium.launch({ timeout: 120000, executablePath: process.env.CHROMIUM, args: ['--no-sandbox', '--disable-dev-shm-usage'] });
const page = await browser.newPage();
const found = { pages: [], console: [], requests: [], violations: [] };
page.on('console', (message) => found.console.push(message.text()));
page.on('pageerror', (error) => found.console.push(String(error.stack ?? error)));
page.on('request', (request) => found.requests.push(request.url()));

async function load(step, action) {
  const [response] = await Promise.all([page.waitForResponse((response) => response.request().isNavigationRequest(), { timeout: 60000 }), action()]);
  await page.waitForLoadState();
  found.pages.push({ step, status: response.status(), title: await page.title() });
  return response.ok();
}

if (await load('list', () => page.goto(url))) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => axe.run(document, { resultTypes: ['violations'] }));
  found.violations = violations.map(({ id, nodes }) => `${id}: ${nodes[0].html.slice(0, 160)}`);
  await load('reload', () => page.reload());
  await page.getByLabel('Filter').fill('nas');
  await load('filter', () => page.getByRole('button', { name: 'Show' }).click());
  await load('report', () => page.locator('tbody a').first().click());
  await load('reload report', () => page.reload());
  await load('back', () => page.goBack());
  for (const box of await page.locator('tbody input[type=checkbox]').all()) await box.check();
  await load('compare', () => page.getByRole('button', { name: 'Compare' }).click());
}
await browser.close();
console.log(JSON.stringify(found));
