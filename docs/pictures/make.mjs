#!/usr/bin/env node
// Makes the pictures of the program's commands: node docs/pictures/make.mjs [PROGRAM]
//
// Runs the real program (default: target/release/sharebench) against its embedded servers. What a terminal shows is
// taken from tmux at 80x24 and 120x40 and drawn by Chromium as a grid of characters; pages are opened in Chromium in the
// light and the dark theme, at the size of a phone, and as printed. Needs tmux, and chromium and playwright-core as
// tests/install-peers installs them (or SHAREBENCH_NODE_MODULES). Takes about five minutes.
import { execFileSync, spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { indexedPng } from './indexed_png.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const root = resolve(here, '../..');
const program = resolve(process.argv[2] ?? join(root, 'target/release/sharebench'));
const modules = process.env.SHAREBENCH_NODE_MODULES ?? join(root, '.peers/node/node_modules');
const { chromium } = createRequire(modules + '/')('playwright-core');
const home = mkdtempSync(join(tmpdir(), 'sharebench-pictures-'));
const env = { ...process.env, HOME: home, LC_ALL: 'C.UTF-8', TERM: 'xterm-256color', SHAREBENCH_PASSWORD: 'pictures' };
const SIZES = [[80, 24], [120, 40]];
const DEADLINE_MS = 240_000;
const pause = (ms) => new Promise((done) => setTimeout(done, ms));

// --- Programs in terminals ---

// Runs a command line in a terminal until `shows` is true of its screen; returns the screen with its colours.
async function inTerminal([columns, rows], line, shows, after = () => {}) {
  const socket = join(home, `tmux-${columns}`);
  const tmux = (...args) => execFileSync('tmux', ['-S', socket, ...args], { env, cwd: home, encoding: 'utf8', stdio: 'pipe' });
  const prompt = `printf '\\033[32m$\\033[0m '`;
  tmux('-f', '/dev/null', 'new-session', '-d', '-s', 't', '-x', String(columns), '-y', String(rows), 'sh', '-c',
    `${prompt}; echo '${line.replaceAll(program, 'sharebench').replaceAll("'", `'"'"'`)}'; ${line}; ${prompt}; touch ended; sleep 600`);
  try {
    const from = Date.now();
    for (;;) {
      await pause(200);
      const screen = tmux('capture-pane', '-p', '-t', 't');
      const ended = readdirSync(home).includes('ended');
      if (shows(screen, ended)) break;
      if (ended || Date.now() - from > DEADLINE_MS) throw new Error(`${line}: not the expected screen:\n${screen}`);
    }
    const picture = tmux('capture-pane', '-p', '-e', '-t', 't');
    await after(tmux);
    return picture;
  } finally {
    // A key of `after` may have ended the terminal.
    try { tmux('kill-server'); } catch { /* nothing is left to end */ }
    rmSync(join(home, 'ended'), { force: true });
  }
}

const atEnd = (screen, ended) => ended;
const run = (...args) => execFileSync(program, args, { env, cwd: home, stdio: ['ignore', 'pipe', 'pipe'], encoding: 'utf8' });

// Starts the program; returns the process and, per call of `match`, what a regular expression finds in its output.
function start(...args) {
  const child = spawn(program, args, { env, cwd: home, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => { output += data; });
  const match = async (pattern) => {
    const from = Date.now();
    while (Date.now() - from < DEADLINE_MS) {
      const found = output.match(pattern);
      if (found) return found[1];
      await pause(50);
    }
    throw new Error(`${args.join(' ')}: no ${pattern} in ${output}`);
  };
  const ended = new Promise((done) => child.on('close', done));
  return { match, stop: async () => { child.kill('SIGTERM'); await ended; }, ended };
}

// --- Terminal text as a page ---

const COLOURS = ['#1c1f24', '#e06c75', '#98c379', '#e5c07b', '#61afef', '#c678dd', '#56b6c2', '#d7dae0'];
const escaped = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');

// Escape sequences of colours (ECMA-48, SGR) as spans; one cell of the grid per character.
function terminalPage(text, [columns, rows]) {
  const lines = text.split('\n').slice(0, rows).map((line) => {
    let style = {};
    let html = '';
    for (const piece of line.split(/(\x1b\[[0-9;]*m)/)) {
      const codes = piece.match(/^\x1b\[([0-9;]*)m$/);
      if (codes) {
        for (const code of codes[1].split(';').map(Number)) {
          if (code === 0) style = {};
          else if (code === 1) style['font-weight'] = 'bold';
          else if (code === 2) style.opacity = '0.65';
          else if (code === 22) { delete style['font-weight']; delete style.opacity; }
          else if (code === 39) delete style.color;
          else if (code >= 30 && code <= 37) style.color = COLOURS[code - 30];
          else if (code >= 90 && code <= 97) style.color = COLOURS[code - 90];
        }
      } else if (piece) {
        const css = Object.entries(style).map((entry) => entry.join(':')).join(';');
        html += `<span style="${css}">${escaped(piece)}</span>`;
      }
    }
    return `<div>${html}</div>`;
  });
  return `<!doctype html><meta charset="utf-8"><style>
    body{margin:0;background:#1c1f24}
    pre{margin:0;padding:10px 12px;width:${columns}ch;height:${rows * 18}px;color:#d7dae0;font:14px/18px "DejaVu Sans Mono",monospace;overflow:hidden;display:inline-block}
    div{height:18px;white-space:pre}
  </style><pre>${lines.join('')}</pre>`;
}

// --- Pictures ---

const browser = await chromium.launch({ timeout: 120_000, executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox', '--disable-dev-shm-usage'] });
const made = [];

function store(name, png) {
  writeFileSync(join(here, `${name}.png`), indexedPng(png));
  made.push(`${name}.png`);
}

async function terminalPicture(name, size, text) {
  const page = await browser.newPage();
  await page.setContent(terminalPage(text, size));
  store(`${name}-${size.join('x')}`, await page.locator('pre').screenshot());
  await page.close();
}

// The first screen of a page in both themes and on a phone, and its first printed sheet (A4 at 96 pixels per inch).
const VIEWS = [
  ['light', { width: 1280, height: 800 }, 'light', 'screen'],
  ['dark', { width: 1280, height: 800 }, 'dark', 'screen'],
  ['phone', { width: 390, height: 844 }, 'light', 'screen'],
  ['print', { width: 794, height: 1123 }, 'light', 'print'],
];

async function pagePictures(name, url, isDrawn) {
  for (const [view, viewport, colorScheme, media] of VIEWS) {
    const page = await browser.newPage({ viewport, colorScheme });
    await page.goto(url);
    await page.emulateMedia({ media, colorScheme });
    await page.locator(isDrawn).first().waitFor({ timeout: 60_000 });
    // Charts are drawn when they come near the screen.
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    await pause(300);
    store(`${name}-${view}`, await page.screenshot());
    await page.close();
  }
}

const report = (file) => 'file://' + join(home, file);

// --- What is shown ---

const server = start('serve', '--memory', '256MiB', '--smb', '127.0.0.1:0', '--nfs', '127.0.0.1:0', '--account', 'alice', '--service-time', '100us', '--cache', '64MiB');

async function main() {
  const smb = await server.match(/(smb:\/\/\S+)/);
  const nfs = await server.match(/(nfs:\/\/\S+)/);
  const targets = `'${smb}' '${nfs}'`;
  const sweep = `${program} sweep ${targets} --file-sizes 256KiB,1MiB --record-sizes 4KiB,64KiB --tests read,random-read --repetitions 10`;
  const load = (measure) => `${program} load ${targets} --users 4,8,16 --think 50ms --warm-up 1s --measure ${measure} --scale 8MB`;
  for (const size of SIZES) {
    await terminalPicture('demo', size, await inTerminal(size, `${program} demo`, atEnd));
    await terminalPicture('sweep', size, await inTerminal(size, sweep, atEnd));
    await terminalPicture('load', size, await inTerminal(size, load('2s'), atEnd));
    await terminalPicture('doctor', size, await inTerminal(size, `${program} doctor`, atEnd));
  }
  // Runs 1 to 3 are those of the small terminal, 4 to 6 those of the large one.
  for (const size of SIZES) {
    await terminalPicture('compare', size, await inTerminal(size, `${program} compare 2 5 | fold -s -w ${size[0]} | head -n ${size[1] - 2}`, atEnd));
    const live = `${load('6s')} --dashboard`;
    await terminalPicture('dashboard', size, await inTerminal(size, live, (screen) => /16 users|8 users logged on/.test(screen) && /:.*B\/s/.test(screen), async (tmux) => {
      tmux('send-keys', '-t', 't', 'q');
      await pause(3000);
      // The report is served until Ctrl-C.
      tmux('send-keys', '-t', 't', 'C-c');
      await pause(1000);
    }));
  }
  for (const [name, from] of [['demo', ['1']], ['sweep', ['2']], ['load', ['3']]]) {
    run('report', ...from, '-o', `${name}.html`);
    await pagePictures(name, report(`${name}.html`), '#answer');
  }
  run('report', '2', '5', '-o', 'compare.html');
  await pagePictures('compare', report('compare.html'), '#answer');
  const live = start('load', smb, nfs, '--users', '4,8,16', '--think', '50ms', '--warm-up', '1s', '--measure', '6s', '--scale', '8MB', '--dashboard');
  const url = await live.match(/dashboard: (\S+)/);
  await pagePictures('dashboard', url, '#users-chart svg');
  await live.stop();
}

try {
  await main();
  const bytes = made.reduce((sum, file) => sum + readFileSync(join(here, file)).length, 0);
  console.log(`${made.length} pictures, ${Math.round(bytes / 1024)} KiB`);
} finally {
  await browser.close();
  await server.stop();
  rmSync(home, { recursive: true, force: true });
}
