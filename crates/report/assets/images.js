// Every chart as SVG and as PNG, in a text that the browser prints.
'use strict';
(() => {
  const data = JSON.parse(document.getElementById('data').textContent), { at } = Charts.parts;
  const style = getComputedStyle(document.documentElement), read = (name) => style.getPropertyValue(name).trim(), rgb = (name) => read(name).split(' ').map(Number);
  const theme = {
    ink: read('--ink'), soft: read('--soft'), line: read('--line'), panel: read('--panel'), bad: read('--bad'), series: [0, 1, 2, 3, 4, 5].map((i) => read('--s' + i)), bands: [0, 1, 2, 3].map((i) => read('--b' + i)),
    faster: rgb('--faster'), slower: rgb('--slower'), parity: rgb('--parity'), unsure: rgb('--unsure'),
  };
  const HEIGHTS = { load: 760, depth: 600, bands: 600, tail: 560 }, WIDTH = 960;

  // What there is to draw: [kind, section, choice, name].
  function pictures() {
    const found = [];
    data.sections.forEach((section, s) => {
      const firsts = Charts.distinct(section.rows.map((row) => at(row, 0))), title = section.title;
      if (section.view === 'load') found.push(['load', s, undefined, title + '-users']);
      data.comparisons.forEach((pair, c) => { if (section.view !== 'load' && section.rows.some((row) => row.ratios[c])) found.push(['ratio', s, c, title + '-ratio-' + pair.name]); });
      if (section.view === 'sweep') firsts.forEach((first) => found.push(['throughput', s, first, title + '-throughput-' + first]));
      if (section.view === 'depth') {
        firsts.forEach((first) => found.push(['depth', s, first, title + '-depth-' + first]));
        data.systems.forEach((name, i) => { if (section.rows.some((row) => row.outcomes[i])) found.push(['level', s, i, title + '-level-' + name]); });
      }
      Charts.along(section).forEach(([label, rows], i) => { if (rows.some((row) => row.outcomes.some((o) => o?.bands))) found.push(['bands', s, i, title + '-bands-' + label]); });
      if (section.rows.some((row) => row.outcomes.some((o) => o && o.cpu_user + o.cpu_kernel > 0))) (section.axes.length < 2 ? [''] : firsts).forEach((first) => found.push(['cost', s, first, title + '-cpu-' + first]));
      const last = section.rows.findLastIndex((row) => row.outcomes.some((o) => o?.curve));
      if (last >= 0) found.push(['tail', s, last, title + '-percentiles']);
    });
    if (data.timelines.length) found.push(['timeline', 0, undefined, 'run-timeline']);
    return found;
  }

  const base64 = (text) => btoa(Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join(''));
  const drawn = pictures().map(([kind, s, choice, name]) => {
    const height = HEIGHTS[kind] ?? 420, chart = echarts.init(null, null, { renderer: 'svg', ssr: true, width: WIDTH, height });
    chart.setOption({ ...Charts.draw[kind](data, data.sections[s], theme, choice, WIDTH - 72), backgroundColor: theme.panel });
    const svg = chart.renderToSVGString();
    chart.dispose();
    // The page counts as loaded when its pictures are.
    const image = document.body.appendChild(new Image());
    image.src = 'data:image/svg+xml;base64,' + base64(svg);
    return { name: name.replace(/[^\w.-]+/g, '-').replace(/-+$/, ''), svg, image, height };
  });
  addEventListener('load', () => {
    const lines = drawn.flatMap(({ name, svg, image, height }) => {
      const canvas = document.createElement('canvas');
      canvas.width = 2 * WIDTH;
      canvas.height = 2 * height;
      canvas.getContext('2d').drawImage(image, 0, 0, canvas.width, canvas.height);
      return [name + ' svg ' + base64(svg), name + ' png ' + canvas.toDataURL('image/png').split(',')[1]];
    });
    const text = document.createElement('pre');
    text.id = 'pictures';
    text.textContent = lines.join('\n');
    document.body.replaceChildren(text);
  });
})();
