// The page: draws each chart when it comes near the view, follows theme and size, filters, downloads, opens cells.
'use strict';
(() => {
  const data = JSON.parse(document.getElementById('data').textContent);
  const figures = new Map();
  // Charts near the view, and those that are not drawn as they should be.
  const near = new Set(), stale = new Set();
  const element = (tag, attributes, ...children) => { const e = document.createElement(tag); for (const [name, value] of Object.entries(attributes ?? {})) e.setAttribute(name, value); e.append(...children); return e; };

  function theme() {
    const style = getComputedStyle(document.documentElement), read = (name) => style.getPropertyValue(name).trim(), rgb = (name) => read(name).split(' ').map(Number);
    return {
      ink: read('--ink'), soft: read('--soft'), line: read('--line'), panel: read('--panel'), bad: read('--bad'), series: [0, 1, 2, 3, 4, 5].map((i) => read('--s' + i)), bands: [0, 1, 2, 3].map((i) => read('--b' + i)),
      faster: rgb('--faster'), slower: rgb('--slower'), parity: rgb('--parity'), unsure: rgb('--unsure'),
    };
  }

  // What a chart offers to choose: {section, value, label, group}; the one it begins with.
  const offers = {
    ratio: (section) => data.comparisons.map((c, i) => ({ value: i, label: c.name })).filter(({ value }) => section.rows.some((row) => row.ratios[value])),
    overview: () => data.comparisons.map((c, i) => ({ value: i, label: c.name, section: 0 })).filter(({ value }) => Charts.mapped(data, value).length),
    throughput: (section) => Charts.distinct(section.rows.map((r) => Charts.parts.at(r, 0))).map((v) => ({ value: v, label: v + ' file' })),
    depth: (section) => Charts.distinct(section.rows.map((r) => Charts.parts.at(r, 0))).map((v) => ({ value: v, label: v + ' records' })),
    level: () => data.systems.map((name, i) => ({ value: i, label: name })),
    load: () => [],
    timeline: () => [],
    tail: (section) => section.rows.map((row, i) => ({ value: i, label: Charts.where(section, row), row })).filter(({ row }) => row.outcomes.some((o) => o?.curve)),
    bands: (section) => Charts.along(section).map(([label, rows], i) => ({ value: i, label, rows })).filter(({ rows }) => rows.some((row) => row.outcomes.some((o) => o?.bands))),
    cost: (section) => (section.axes.length < 2 ? [{ value: '', label: '' }] : Charts.distinct(section.rows.map((r) => Charts.parts.at(r, 0))).map((v) => ({ value: v, label: Charts.parts.axisName(section.axes[0]) + ' ' + v }))),
  };
  function choices(kind, own) {
    if (kind === 'overview') return offers.overview();
    if (own !== undefined) return offers[kind](data.sections[own]).map((offer) => ({ ...offer, section: Number(own) }));
    return data.sections.flatMap((section, index) => offers[kind](section).map((offer) => ({ ...offer, section: index, group: section.title })));
  }

  function draw(figure) {
    const entry = figures.get(figure), plot = figure.querySelector('.plot'), { width } = entry;
    entry.width = plot.clientWidth;
    stale.delete(figure);
    if (entry.chart && entry.width !== width) entry.chart.resize();
    if (!entry.chart) {
      entry.chart = echarts.init(plot, null, { renderer: 'svg' });
      entry.chart.on('click', (event) => {
        if (event.data?.row !== undefined) location.hash = 'cell-' + (event.data.section ?? entry.section) + '-' + event.data.row;
        if (event.data?.part) goTo('part-' + entry.choice + '-' + event.data.part);
      });
    }
    if (entry.kind === 'ratio' || entry.kind === 'overview') {
      const pair = data.comparisons[entry.choice];
      figure.querySelector('.what').textContent = pair.name + ': blue where ' + data.systems[pair.a] + ' is faster, orange where ' + data.systems[pair.b] + ' is';
      figure.dataset.pair = pair.name;
    }
    entry.chart.setOption(Charts.draw[entry.kind](data, data.sections[entry.section], theme(), entry.choice, entry.width - 72), true);
  }

  // One chart per frame, the one nearest to the middle of the view first, so that the page answers between them however
  // fast its reader scrolls. What has left the view meanwhile waits until it comes back.
  let asked = false;
  const waiting = () => [...near].filter((figure) => stale.has(figure));
  function ask() {
    if (asked || !waiting().length) return;
    asked = true;
    requestAnimationFrame(() => setTimeout(drawNext));
  }
  function drawNext() {
    const away = (figure) => { const { top, bottom } = figure.getBoundingClientRect(); return Math.abs(top + bottom - innerHeight); };
    asked = false;
    const next = waiting().map((figure) => [away(figure), figure]).sort(([a], [b]) => a - b)[0];
    if (next) draw(next[1]);
    ask();
  }

  // Opens what an element is in.
  function reveal(element) {
    for (let outer = element.closest('details'); outer; outer = outer.parentElement.closest('details')) outer.open = true;
    element.closest('article')?.removeAttribute('hidden');
  }

  function goTo(id) {
    const found = document.getElementById(id);
    if (!found) return;
    document.querySelectorAll('.found').forEach((other) => other.classList.remove('found'));
    found.classList.add('found');
    reveal(found);
    found.scrollIntoView({ block: 'center' });
  }

  // Opens the table of a chart and scrolls to it.
  function openTable(id) {
    const table = document.getElementById(id);
    if (!table) return;
    reveal(table);
    table.scrollIntoView({ block: 'start' });
    table.querySelector('summary').focus({ preventScroll: true });
  }

  // The section of one cell, below the charts of its test; `#cell-SECTION-ROW` leads to it.
  function showCell(section, row) {
    const owner = document.getElementById('s' + section), id = 'cell-' + section + '-' + row, known = data.sections[section]?.rows[row];
    if (!owner || !known) return;
    reveal(owner.querySelector('.charts'));
    owner.querySelector('.cell')?.remove();
    const facts = Charts.cell(data, data.sections[section], known);
    const head = element('thead', {}, element('tr', {}, ...facts.head.map((text) => element('th', { scope: 'col' }, text))));
    const body = element('tbody', {}, ...facts.rows.map(([name, ...cells]) => element('tr', {}, element('th', { scope: 'row' }, name), ...cells.map((text) => element('td', {}, String(text))))));
    const list = (items) => (items.length ? [element('ul', {}, ...items.map((text) => element('li', {}, text)))] : []);
    const title = element('h4', { tabindex: -1, id: id + '-h' }, data.sections[section].title + ': ' + Charts.where(data.sections[section], known));
    const close = element('button', { type: 'button' }, 'close');
    close.addEventListener('click', () => { panel.remove(); history.replaceState(null, '', ' '); owner.querySelector('summary')?.focus({ preventScroll: true }); });
    const panel = element('section', { class: 'cell', id, 'aria-labelledby': id + '-h' }, title, element('div', { class: 'scroll', tabindex: 0, role: 'group', 'aria-label': 'the numbers of this cell' }, element('table', {}, head, body)), ...list(facts.ratios), ...list(facts.notes));
    if (facts.curves) {
      const more = element('button', { type: 'button' }, 'percentiles');
      more.addEventListener('click', () => chooseTail(section, row));
      panel.append(more, ' ');
    }
    panel.append(close);
    owner.querySelector('.charts').after(panel);
    panel.scrollIntoView({ block: 'nearest' });
    title.focus({ preventScroll: true });
  }
  function chooseTail(section, row) {
    const figure = document.querySelector('figure[data-kind="tail"]'), entry = figures.get(figure), select = figure?.querySelector('select');
    const at = entry.offered.findIndex((offer) => offer.section === section && offer.value === row);
    if (at < 0) return;
    if (select) select.value = at;
    reveal(figure);
    choose(figure, at);
    figure.scrollIntoView({ block: 'center' });
  }
  function choose(figure, at) {
    const entry = figures.get(figure);
    entry.section = entry.offered[at].section;
    entry.choice = entry.offered[at].value;
    draw(figure);
  }

  function save(name, type, content) {
    const link = element('a', { download: name, href: URL.createObjectURL(new Blob([content], { type })) });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }

  function selection(figure, offered, first, what) {
    const select = element('select', { 'aria-label': what + ': choose' });
    offered.forEach((offer, i) => select.append(new Option([offer.group, offer.label].filter(Boolean).join(', '), i, i === first, i === first)));
    select.addEventListener('change', () => choose(figure, Number(select.value)));
    return select;
  }

  function prepare(figure) {
    const kind = figure.dataset.kind, offered = choices(kind, figure.dataset.section), own = figure.dataset.section ?? 0;
    // Maps open on the pair that the verdict is about.
    const first = kind === 'throughput' ? offered.length - 1 : kind === 'ratio' || kind === 'overview' ? Math.max(0, offered.findIndex(({ value }) => value === data.verdict)) : 0;
    const entry = { kind, offered, section: offered[first]?.section ?? Number(own), choice: offered[first]?.value, chart: null };
    figures.set(figure, entry);
    const caption = figure.querySelector('figcaption'), what = caption.querySelector('.what').textContent;
    if (offered.length > 1) caption.append(selection(figure, offered, first, what));
    const button = (label, hint, act) => { const b = element('button', { type: 'button', title: hint, 'aria-label': label + ': ' + hint + ', ' + what }, label); b.addEventListener('click', act); caption.append(b); };
    const name = () => ((kind === 'timeline' ? 'run' : data.sections[entry.section].title) + '-' + kind).replace(/[^\w.-]+/g, '-');
    const tableOf = { tail: 'times', bands: 'bands', cost: 'cost' }[kind];
    button('Table', 'show the data as a table', () => openTable(tableOf ? tableOf + entry.section : figure.dataset.table));
    button('CSV', 'download the data', () => save(name() + '.csv', 'text/csv', Charts.csv(kind, data, data.sections[entry.section], entry.choice)));
    const plot = figure.querySelector('.plot');
    if (kind === 'overview') plot.style.height = 64 + 28 * Charts.mapped(data, entry.choice).length + 'px';
    button('SVG', 'download the picture', () => { if (!entry.chart) draw(figure); save(name() + '.svg', 'image/svg+xml', decodeURIComponent(entry.chart.getDataURL({ type: 'svg' }).split(',').slice(1).join(','))); });
    stale.add(figure);
    new ResizeObserver(() => { if (entry.chart && plot.clientWidth && plot.clientWidth !== entry.width) { stale.add(figure); ask(); } }).observe(plot);
  }

  // Hides the tests that are not asked for.
  function filter(form) {
    const articles = [...form.parentElement.querySelectorAll('article[id]')], [text, shown] = [form.querySelector('input'), form.querySelector('select')];
    const apply = () => {
      for (const article of articles) {
        const named = article.querySelector('h3').textContent.toLowerCase().includes(text.value.trim().toLowerCase());
        article.hidden = !named || shown.value !== '' && !article.dataset.tones.split(' ').includes(shown.value);
      }
      form.querySelector('output').textContent = articles.filter((article) => !article.hidden).length + ' of ' + articles.length;
    };
    form.hidden = false;
    form.addEventListener('input', apply);
    form.addEventListener('submit', (event) => event.preventDefault());
    apply();
  }

  // The number of a part leads to its map; on the map it leads back.
  function showPart(link) {
    const own = link.closest('article'), figure = own?.querySelector('figure[data-kind="ratio"]') ?? document.querySelector('figure[data-kind="ratio"][data-section="' + own?.id.slice(1) + '"]'), wanted = Number(link.dataset.comparison), entry = figures.get(figure);
    const at = entry?.offered.findIndex((offer) => offer.value === wanted) ?? -1;
    if (at < 0) return;
    const select = figure.querySelector('select');
    if (select) select.value = at;
    choose(figure, at);
    figure.scrollIntoView({ block: 'center' });
  }

  function follow() {
    const cell = /^#cell-(\d+)-(\d+)$/.exec(location.hash);
    if (cell) showCell(Number(cell[1]), Number(cell[2]));
    else if (location.hash.startsWith('#part-')) goTo(location.hash.slice(1));
  }

  const all = [...document.querySelectorAll('figure[data-kind]')];
  all.forEach(prepare);
  document.querySelectorAll('form.filter').forEach(filter);
  document.querySelectorAll('a.part[data-comparison]').forEach((link) => link.addEventListener('click', (event) => { event.preventDefault(); showPart(link); }));
  const seen = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting) near.add(target);
      else near.delete(target);
    }
    ask();
  }, { rootMargin: '400px' });
  all.forEach((figure) => seen.observe(figure));
  const again = () => { all.forEach((figure) => stale.add(figure)); ask(); };
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', again);
  // A print has the tests and their charts; tables that are closed say so.
  let opened = [];
  addEventListener('beforeprint', () => {
    opened = [...document.querySelectorAll('.folded > details:not([open])')];
    opened.forEach((details) => { details.open = true; });
    all.forEach(draw);
  });
  addEventListener('afterprint', () => { opened.forEach((details) => { details.open = false; }); again(); });
  // The navigation marks the part that is at the top of the view.
  const links = new Map([...document.querySelectorAll('nav a')].map((link) => [link.hash.slice(1), link]));
  const inView = new Set();
  const place = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) inView[isIntersecting ? 'add' : 'delete'](target.id);
    const current = [...links.keys()].find((id) => inView.has(id));
    if (current) for (const [id, link] of links) id === current ? link.setAttribute('aria-current', 'true') : link.removeAttribute('aria-current');
  }, { rootMargin: '-60px 0px -60% 0px' });
  document.querySelectorAll('main > section').forEach((part) => place.observe(part));
  addEventListener('hashchange', follow);
  follow();
})();
