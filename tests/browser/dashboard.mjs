// Opens the dashboard of a run in Chromium until it has turned into the report. Prints one line of JSON: the targets and
// charts of the dashboard, findings of axe-core, the title of the report, the console and the requests.
// Arguments: the address; the process of the run, which is stopped when the dashboard has been seen; a directory for
// pictures ("" for none).
import { createRequire } from 'node:module';
import { readFile } from 'node:fs/promises';

const require = createRequire(process.env.SHAREBENCH_NODE_MODULES + '/');
const { chromium } = require('playwright-core');
const axe = await readFile(require.resolve('axe-core/axe.min.js'), 'utf8');
const [url, run, pictures] = process.argv.slice(2);

const browser = await chromium.launch({ timeout: 120000, executablePath: process.env.CHROMIUM, args: ['--no-sandbox', '--disable-dev-shm-usage'] });
const page = await browser.newPage({ viewport: { width: 1280, height: 900 }, colorScheme: 'light' });
const found = { targets: [], charts: 0, violations: [], console: [], requests: [] };
page.on('console', (message) => found.console.push(message.text()));
page.on('pageerror', (error) => found.console.push(String(error.stack ?? error)));
page.on('request', (request) => found.requests.push(request.url()));

await page.goto(url);
await page.locator('#cells-chart svg').waitFor({ timeout: 60000 });
found.targets = await page.locator('#targets th').allTextContents();
found.charts = await page.locator('figure svg').count();
await page.evaluate(axe);
const { violations } = await page.evaluate(() => axe.run(document, { resultTypes: ['violations'] }));
for (const { id, impact, nodes } of violations) if (impact === 'serious' || impact === 'critical') found.violations.push(`${id}: ${nodes.length} such as ${nodes[0].html.slice(0, 160)}`);
if (pictures) {
  await page.screenshot({ path: `${pictures}/dashboard-light.png` });
  await page.emulateMedia({ colorScheme: 'dark' });
  await page.locator('#cells-chart svg').waitFor();
  await page.screenshot({ path: `${pictures}/dashboard-dark.png` });
}
process.kill(Number(run), 'SIGTERM');
await page.locator('#answer').waitFor({ timeout: 240000 });
found.title = await page.locator('h1').textContent();
await browser.close();
console.log(JSON.stringify(found));
