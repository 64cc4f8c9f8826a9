// Opens every page of the site of the documents in Chromium, in both themes, at the width of a desk and of a phone, checks the
// links between them, and searches. Prints one line of JSON: the number of pages, problems, the console, failed requests, hits.
// Arguments: the folder of the site; the words of the search.
import { createRequire } from 'node:module';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const require = createRequire(process.env.SHAREBENCH_NODE_MODULES + '/');
const { chromium } = require('playwright-core');
const [folder, words] = process.argv.slice(2);
const address = (name) => pathToFileURL(join(folder, name)).href;

const browser = await chromium.launch({ timeout: 120000, executablePath: process.env.CHROMIUM, args: ['--no-sandbox', '--disable-dev-shm-usage'] });
const page = await browser.newPage();
const found = { pages: 0, problems: [], console: [], failed: [], hits: [] };
page.on('console', (message) => found.console.push(`${page.url()}: ${message.text()}`));
page.on('pageerror', (error) => found.console.push(`${page.url()}: ${error.stack ?? error}`));
// Chromium loads a style sheet that is off after the page, and aborts that for the next page.
page.on('requestfailed', (request) => { if (request.failure().errorText !== 'net::ERR_ABORTED') found.failed.push(request.url()); });
page.on('request', (request) => { if (!request.url().startsWith(address(''))) found.failed.push(request.url()); });

// The list of contents and the page of a wrong address are parts of the site, not documents.
const files = await readdir(folder, { recursive: true });
const documents = files.filter((file) => file.endsWith('.html') && !['404.html', 'toc.html'].includes(file));
const anchors = new Map(files.map((file) => [address(file), new Set()]));
const links = [];
for (const document of documents) {
  const problem = (what) => found.problems.push(`${document}: ${what}`);
  for (const scheme of ['light', 'dark']) {
    for (const width of [1280, 400]) {
      await page.emulateMedia({ colorScheme: scheme });
      await page.setViewportSize({ width, height: 900 });
      await page.goto(address(document));
      const { brightness, wide } = await page.evaluate(() => ({
        brightness: getComputedStyle(document.documentElement).backgroundColor.match(/\d+/g).slice(0, 3).reduce((sum, part) => sum + Number(part), 0) / 3,
        // Tables and listings have boxes that scroll.
        wide: [...document.querySelectorAll('*')].filter((box) => box.scrollWidth > box.clientWidth && !box.closest('main .table-wrapper, main pre')
          && (box === document.documentElement || /auto|scroll/.test(getComputedStyle(box).overflowX))).map((box) => `${box.tagName} ${box.className}: ${box.scrollWidth}`),
      }));
      if ((scheme === 'dark') !== brightness < 128) problem(`${scheme}: brightness ${brightness} of the background`);
      if (wide.length) problem(`${scheme}, ${width} pixels: ${wide.join(', ')} pixels wide`);
    }
  }
  if (!(await page.locator('main h1').count())) problem('no heading');
  for (const source of await page.locator('main img').evaluateAll((all) => all.filter((image) => !image.naturalWidth).map((image) => image.src))) problem(`no picture ${source}`);
  for (const id of await page.locator('[id]').evaluateAll((all) => all.map((element) => element.id))) anchors.get(address(document)).add(id);
  for (const link of await page.locator('a[href]').evaluateAll((all) => all.map((one) => one.href))) links.push([document, link]);
  found.pages++;
}
for (const [document, link] of links) {
  const [file, anchor] = link.split('#');
  if (!link.startsWith('file:')) continue;
  if (!anchors.has(file) || (anchor && !anchors.get(file).has(decodeURIComponent(anchor)))) found.problems.push(`${document}: the link ${link} leads nowhere`);
}

await page.goto(address('index.html'));
await page.keyboard.press('/');
await page.locator('#mdbook-searchbar').pressSequentially(words);
await page.locator('#mdbook-searchresults a').first().waitFor({ timeout: 60000 });
found.hits = await page.locator('#mdbook-searchresults li').allTextContents();
await page.locator('#mdbook-searchresults a').first().click();
await page.locator('main mark').first().waitFor({ timeout: 60000 });
await browser.close();
console.log(JSON.stringify(found));
