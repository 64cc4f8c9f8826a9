// The page: draws each chart when it comes into view, follows theme and size, offers downloads.
'use strict';
(() => {
  const data = JSON.parse(document.getElementById('data').textContent);
  const figures = new Map();

  function theme() {
    const style = getComputedStyle(document.documentElement), read = (name) => style.getPropertyValue(name).trim(), rgb = (name) => read(name).split(' ').map(Number);
    return {
      ink: read('--ink'), soft: read('--soft'), line: read('--line'), card: read('--card'), series: [0, 1, 2, 3, 4, 5].map((i) => read('--s' + i)),
      faster: rgb('--faster'), slower: rgb('--slower'), parity: rgb('--parity'), unsure: rgb('--unsure'),
    };
  }

  // What the chart's choice offers: [value, label] pairs.
  function choices(kind, section) {
    if (kind === 'ratio') return data.comparisons.map((c, i) => [i, c.name]);
    if (kind === 'throughput') return Charts.distinct(section.rows.map((r) => r.at[0] ?? '')).map((v) => [v, v + ' file']);
    if (kind === 'depth') return Charts.distinct(section.rows.map((r) => r.at[0] ?? '')).map((v) => [v, v + ' records']);
    if (kind === 'tail') return section.rows.map((r, i) => [i, Charts.where(section, r)]);
    return [];
  }

  function draw(figure) {
    const entry = figures.get(figure), plot = figure.querySelector('.plot');
    if (!entry.chart) {
      entry.chart = echarts.init(plot, null, { renderer: 'svg' });
      if (entry.kind === 'ratio') entry.chart.on('click', (event) => show(figure.dataset.section, event.data.row));
    }
    if (entry.kind === 'ratio') {
      const pair = data.comparisons[entry.choice];
      figure.querySelector('.what').textContent = pair.name + ': blue where ' + data.systems[pair.a] + ' is faster, orange where ' + data.systems[pair.b] + ' is';
    }
    entry.chart.setOption(Charts.draw[entry.kind](data, entry.section, theme(), entry.choice, plot.clientWidth - 72), true);
  }

  // Opens the table behind a section and goes to one of its rows.
  function show(section, row) {
    const line = document.getElementById('r' + section + '-' + row);
    line.closest('details').open = true;
    document.querySelectorAll('tr.found').forEach((found) => found.classList.remove('found'));
    line.classList.add('found');
    line.scrollIntoView({ block: 'center' });
  }

  function save(name, type, content) {
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([content], { type }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }

  function prepare(figure) {
    const section = data.sections[figure.dataset.section], kind = figure.dataset.kind, offered = choices(kind, section);
    const middle = kind === 'throughput' || kind === 'tail' ? offered.length - 1 : 0;
    const entry = { section, kind, choice: offered[middle]?.[0], chart: null };
    figures.set(figure, entry);
    const caption = figure.querySelector('figcaption'), what = caption.querySelector('.what').textContent;
    if (offered.length > 1) {
      const select = document.createElement('select');
      select.setAttribute('aria-label', what + ': choose');
      offered.forEach(([, label], i) => select.add(new Option(label, i, i === middle, i === middle)));
      select.addEventListener('change', () => { entry.choice = offered[select.value][0]; draw(figure); });
      caption.append(select);
    }
    const button = (label, hint, act) => { const b = document.createElement('button'); b.type = 'button'; b.textContent = label; b.title = hint; b.setAttribute('aria-label', what + ': ' + hint); b.addEventListener('click', act); caption.append(b); };
    const name = (section.title + '-' + kind).replace(/[^\w.-]+/g, '-');
    button('CSV', 'download the data', () => save(name + '.csv', 'text/csv', Charts.csv(data, section)));
    button('SVG', 'download the picture', () => save(name + '.svg', 'image/svg+xml', decodeURIComponent(entry.chart.getDataURL({ type: 'svg' }).split(',').slice(1).join(','))));
    const resized = new ResizeObserver(() => { if (entry.chart) { entry.chart.resize(); if (kind === 'ratio') draw(figure); } });
    resized.observe(figure.querySelector('.plot'));
  }

  const all = [...document.querySelectorAll('figure[data-kind]')];
  all.forEach(prepare);
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting) { seen.unobserve(entry.target); draw(entry.target); }
  }, { rootMargin: '600px' });
  all.forEach((figure) => seen.observe(figure));
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => all.filter((f) => figures.get(f).chart).forEach(draw));
  addEventListener('beforeprint', () => { seen.disconnect(); all.forEach(draw); });
  addEventListener('afterprint', () => all.forEach(draw));
})();
