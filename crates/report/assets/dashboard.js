// The dashboard: draws the state that the program sends once a second. At the end of the run it loads the report.
'use strict';
(() => {
  const { base, axis, legend, line, bars, rate, time, tick, escape } = Charts.parts;
  // Number of cells that fit the chart; of more, the newest are drawn.
  const MAX_CELLS = 60;
  // Shortest time between two drawings: the browser shares the machine with the run.
  const DRAW_INTERVAL_MS = 1000;
  // Failed connections in a row after which the program is taken to have ended.
  const MAX_FAILURES = 20;
  const BYTES = { unit: 'bytes-per-second' }, OPERATIONS = { unit: 'operations-per-second' };
  const byId = (id) => document.getElementById(id);
  const plots = new Map();
  // Values per test, cell and target: [sum, count, lowest, highest]; values per target and users.
  const cells = new Map(), users = new Map();
  let state = null, newest = '', expected = 0, failures = 0, drawn = -DRAW_INTERVAL_MS, timer = null;

  function theme() {
    const style = getComputedStyle(document.documentElement), read = (name) => style.getPropertyValue(name).trim();
    return { ink: read('--ink'), soft: read('--soft'), line: read('--line'), panel: read('--panel'), series: [0, 1, 2, 3, 4, 5].map((i) => read('--s' + i)) };
  }
  function show(id, text) {
    byId(id).textContent = text;
    byId(id).hidden = text === '';
  }
  const seconds = (s) => (s < 120 ? s + ' s' : s < 7200 ? Math.round(s / 60) + ' min' : (s / 3600).toFixed(1) + ' h');
  const counts = (of) => Object.entries(of).map(([name, count]) => count + ' ' + name).join(', ');

  // A number is one the page does not know, also after a reconnect.
  function addStep(step) {
    if (step.number < expected) return;
    expected = step.number + 1;
    const value = step.bytes_per_s ?? step.operations_per_s, unit = step.bytes_per_s === null ? OPERATIONS : BYTES;
    if (value === null) return;
    const add = (groups, name, place) => {
      if (!groups.has(name)) groups.set(name, { unit, places: new Map() });
      const { places } = groups.get(name);
      if (!places.has(place)) places.set(place, new Map());
      const [sum, count, low, high] = places.get(place).get(step.target) ?? [0, 0, value, value];
      places.get(place).set(step.target, [sum + value, count + 1, Math.min(low, value), Math.max(high, value)]);
    };
    const x = step.starts_per_s ?? step.users;
    if (step.load && x !== null) return add(users, step.starts_per_s === null ? 'users' : 'starts/s', x);
    newest = step.test;
    add(cells, step.test, step.cell || step.test);
  }

  function row(target, index) {
    const cell = (tag, text) => { const e = document.createElement(tag); e.textContent = text; return e; };
    const shown = target.bytes_per_s !== null ? rate(BYTES, target.bytes_per_s) : target.operations_per_s !== null ? rate(OPERATIONS, target.operations_per_s) : '-';
    const alone = target.rank_0_bytes_per_s === null ? '' : ' (rank 0 now ' + rate(BYTES, target.rank_0_bytes_per_s) + ')';
    const found = document.createElement('tr'), name = cell('th', ''), dot = cell('span', '');
    dot.className = 'dot';
    dot.style.background = 'var(--s' + index % 6 + ')';
    name.scope = 'row';
    name.append(dot, target.name);
    found.append(name, ...[shown + alone, target.p50_ns ? time(target.p50_ns) : '-', target.p99_ns ? time(target.p99_ns) : '-', target.steps].map((text) => cell('td', text)));
    return found;
  }

  function showState() {
    const { now, targets, verdicts } = state;
    show('phase', state.phase);
    show('step', now ? targets[now.target].name + ': ' + now.step + ', repetition ' + now.repetition + (now.seconds >= 2 ? ', for ' + seconds(now.seconds) : '') + (now.preparing ? '; preparing: ' + now.preparing : '') : state.phase);
    byId('share').value = state.share;
    show('left', state.steps + ', ' + seconds(state.spent_s) + ' spent' + (state.left_s === null ? '' : ', ' + seconds(state.left_s) + ' left') + (state.ranks > 1 ? '; ' + state.ranks + ' ranks: the current step is of rank 0 only' : ''));
    show('users', now?.activity?.text ?? '');
    byId('targets').replaceChildren(...targets.map(row));
    const failed = Object.keys(state.checks).length ? ' (' + counts(state.checks) + ')' : '';
    show('checks', 'self-checks: ' + verdicts[0] + ' valid, ' + verdicts[1] + ' with a warning, ' + verdicts[2] + ' invalid' + failed);
    show('failures', Object.keys(state.failures).length ? 'failures: ' + counts(state.failures) : '');
    byId('messages').hidden = !state.messages.length;
    byId('messages').querySelector('ul').replaceChildren(...state.messages.map((text) => { const e = document.createElement('li'); e.textContent = text; return e; }));
  }

  function plot(id, option) {
    const figure = byId(id);
    figure.hidden = option === null;
    if (option === null) return;
    const place = figure.querySelector('.plot');
    if (!plots.has(id)) {
      plots.set(id, echarts.init(place, null, { renderer: 'svg' }));
      new ResizeObserver(() => plots.get(id).resize()).observe(place);
    }
    plots.get(id).setOption(option, true);
  }
  const rates = (colours, unit) => axis(colours, '', { type: 'value', min: 0, axisLabel: { formatter: (v) => (v === 0 ? '0' : tick(rate(unit, v))) } });
  const tip = (colours, unit) => ({
    ...base(colours).tooltip, trigger: 'axis',
    formatter: (points) => points.filter(({ seriesType, value }) => seriesType === 'line' && value !== null).map(({ seriesName, value }) => '<b>' + escape(seriesName) + '</b> ' + escape(rate(unit, Array.isArray(value) ? value[1] : value))).join('<br>'),
  });
  const frame = (colours, unit, names, x) => ({
    ...base(colours), legend: legend(colours, names), grid: { left: 76, right: 16, top: 36, bottom: 48 }, xAxis: x, yAxis: rates(colours, unit), tooltip: tip(colours, unit),
  });

  // The mean of each cell of the test that was measured last, with its lowest and highest repetition.
  function cellsChart(colours, names) {
    const group = cells.get(newest);
    if (!group) return null;
    const places = [...group.places].slice(-MAX_CELLS), labels = places.map(([cell]) => cell);
    byId('cells-chart').querySelector('.what').textContent = newest + ': mean rate of each cell so far, with the range of its repetitions';
    const x = axis(colours, '', { type: 'category', data: labels, splitLine: { show: false }, axisLabel: { width: 110, overflow: 'truncate' } });
    const range = ([, count, low, high]) => (count > 1 ? [low, high] : [null, null]);
    return { ...frame(colours, group.unit, names, x), series: names.flatMap((name, t) => {
      const values = places.map(([, targets]) => targets.get(t));
      return [line(colours, t, name, values.map((v) => (v ? v[0] / v[1] : null))), bars(colours, t, name, values.map((v, i) => [i, ...(v ? range(v) : [null, null])]))];
    }) };
  }
  function usersChart(colours, names) {
    const [kind, group] = [...users][users.size - 1] ?? [];
    if (!group) return null;
    const places = [...group.places].sort(([a], [b]) => a - b);
    const series = names.map((name, t) => line(colours, t, name, places.filter(([, targets]) => targets.has(t)).map(([x, targets]) => { const [sum, count] = targets.get(t); return [x, sum / count]; })));
    return { ...frame(colours, group.unit, names, axis(colours, kind, { type: 'value', min: 0, splitLine: { show: false } })), series };
  }
  function historyChart(colours, names) {
    const longest = Math.max(...state.targets.map((target) => target.history.length));
    if (longest < 2) return null;
    const x = axis(colours, '', { type: 'category', data: Array.from({ length: longest }, (_, i) => i), axisLabel: { show: false }, splitLine: { show: false } });
    const series = state.targets.map((target, t) => line(colours, t, names[t], [...Array(longest - target.history.length).fill(null), ...target.history], { symbol: 'none' }));
    return { ...frame(colours, BYTES, names, x), series };
  }
  function draw() {
    timer = null;
    if (!state || document.hidden) return;
    drawn = performance.now();
    const colours = theme(), names = state.targets.map(({ name }) => name);
    plot('users-chart', usersChart(colours, names));
    plot('cells-chart', cellsChart(colours, names));
    plot('history-chart', historyChart(colours, names));
    byId('charts').hidden = !plots.size;
  }
  function drawSoon() {
    timer ??= setTimeout(draw, Math.max(0, drawn + DRAW_INTERVAL_MS - performance.now()));
  }

  const source = new EventSource('events');
  source.addEventListener('state', (event) => {
    const received = JSON.parse(event.data);
    failures = 0;
    received.finished.forEach(addStep);
    if (!received.state) return;
    state = received.state;
    showState();
    drawSoon();
  });
  source.addEventListener('end', (event) => {
    source.close();
    // The same address is the report now.
    if (JSON.parse(event.data).report) location.reload();
    else show('phase', 'the run has ended without a result');
  });
  // A stream ends after some time, and the browser connects again.
  source.addEventListener('error', () => {
    failures += 1;
    if (source.readyState !== EventSource.CLOSED && failures < MAX_FAILURES) return;
    source.close();
    show('phase', 'no connection: the program has ended');
  });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', drawSoon);
  document.addEventListener('visibilitychange', drawSoon);
})();
