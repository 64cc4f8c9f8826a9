// What each chart shows: data of the report -> options of Apache ECharts. No state, no document.
'use strict';
const Charts = (() => {
  const SYMBOLS = ['circle', 'rect', 'triangle', 'diamond', 'roundRect', 'pin'];
  const AXES = { file_size: 'file', record_size: 'record', users: 'users', queue_depth: 'depth', rate: 'starts/s' };
  const three = (v) => (Math.abs(v) >= 99.95 ? v.toFixed(0) : Math.abs(v) >= 9.995 ? v.toFixed(1) : v.toFixed(2));
  const scaled = (v, units) => { for (const [factor, unit] of units) if (Math.abs(v) >= factor) return three(v / factor) + ' ' + unit; return three(v) + ' ' + units[units.length - 1][1]; };
  const tick = (text) => text.replace(/(\.\d*?)0+(?= )/, (_, kept) => (kept === '.' ? '' : kept));
  const time = (ns) => scaled(ns, [[1e9, 's'], [1e6, 'ms'], [1e3, 'us'], [1, 'ns']]);
  const rate = (section, v) => section.unit === 'bytes-per-second' ? scaled(v, [[1e9, 'GB/s'], [1e6, 'MB/s'], [1e3, 'kB/s'], [1, 'B/s']]) : three(v) + ' ops/s';
  const percent = (ratio) => { const p = (ratio - 1) * 100; return (p >= 0 ? '+' : '') + (Math.abs(p) < 9.95 ? p.toFixed(1) : p.toFixed(0)) + ' %'; };
  const escape = (text) => String(text).replace(/[&<>"']/g, (c) => '&#' + c.charCodeAt(0) + ';');
  const distinct = (values) => [...new Set(values)];
  const mix = (a, b, share) => a.map((v, i) => Math.round(v + (b[i] - v) * share));
  const css = (rgb) => 'rgb(' + rgb.join(',') + ')';
  const axisName = (axis) => AXES[axis] ?? (axis ?? '').replaceAll('_', ' ');
  const at = (row, axis) => row.at[axis] ?? (row.at.length > axis ? 'none' : '');
  const series = (theme, system) => theme.series[system % theme.series.length];

  const base = (theme) => ({
    backgroundColor: 'transparent', animation: false, aria: { enabled: true },
    textStyle: { color: theme.soft, fontFamily: 'system-ui, sans-serif' },
    tooltip: { backgroundColor: theme.panel, borderColor: theme.line, padding: [6, 10], textStyle: { color: theme.ink, fontSize: 12.5, lineHeight: 18 }, confine: true, transitionDuration: 0, extraCssText: 'max-width: calc(100% - 8px); box-sizing: border-box;' },
  });
  const axis = (theme, name, more) => ({
    name, nameLocation: 'middle', nameGap: 30, nameTextStyle: { color: theme.soft }, axisLine: { lineStyle: { color: theme.line } },
    axisTick: { show: false }, splitLine: { lineStyle: { color: theme.line, opacity: 0.7 } }, ...more,
    axisLabel: { color: theme.soft, hideOverlap: true, ...more?.axisLabel },
  });
  // The name of a vertical axis is above it.
  const above = (theme) => ({ nameLocation: 'end', nameGap: 10, nameTextStyle: { color: theme.soft, align: 'left' } });
  const legend = (theme, data) => ({ data, type: 'scroll', top: 0, left: 0, right: 0, itemWidth: 20, textStyle: { color: theme.ink }, inactiveColor: theme.soft, pageTextStyle: { color: theme.soft }, pageIconColor: theme.soft });
  const line = (theme, system, name, data, more) => ({
    type: 'line', name, data, symbol: SYMBOLS[system % SYMBOLS.length], symbolSize: 7, connectNulls: false,
    itemStyle: { color: series(theme, system) }, ...more, lineStyle: { width: 2, color: series(theme, system), ...more?.lineStyle },
  });
  // Error bars: one vertical bar with caps per point; x may be a category or a number.
  const bars = (theme, system, name, data, more) => ({
    type: 'custom', name, silent: true, z: 1, data: data.filter((d) => d[1] !== null && d[1] !== undefined), encode: { x: 0, y: [1, 2] },
    itemStyle: { color: series(theme, system) },
    renderItem: (params, api) => {
      const low = api.coord([api.value(0), api.value(1)]), high = api.coord([api.value(0), api.value(2)]);
      const stroke = { stroke: series(theme, system), lineWidth: 1.5, opacity: 0.75 };
      const segment = (x1, y1, x2, y2) => ({ type: 'line', shape: { x1, y1, x2, y2 }, style: stroke });
      return { type: 'group', children: [segment(low[0], low[1], high[0], high[1]), segment(low[0] - 4, low[1], low[0] + 4, low[1]), segment(high[0] - 4, high[1], high[0] + 4, high[1])] };
    }, ...more,
  });
  const interval = (section, o) => o.low === null ? 'no interval' : rate(section, o.low) + ' to ' + rate(section, o.high);
  // A tooltip has four lines at most: a heading, and one line per system; of more systems several share a line.
  const TIP_LINES = 4;
  const tip = (head, lines, brief = lines) => {
    const found = lines.filter(Boolean), left = TIP_LINES - 1, short = brief.filter(Boolean), per = Math.ceil(short.length / left);
    const shown = found.length <= left ? found : Array.from({ length: Math.ceil(short.length / per) }, (_, i) => short.slice(i * per, i * per + per).join(' \u00b7 '));
    return '<div class="tip">' + ['<b>' + escape(head) + '</b>', ...shown.map(escape)].map((text) => '<div>' + text + '</div>').join('') + '</div>';
  };
  const state = (o) => (o.errors ? ', ' + o.errors + ' failed' : '') + (o.verdict === 'valid' ? '' : ', ' + o.verdict.replace('-', ' '));
  const outcomeLine = (data, section, s, o) => data.systems[s] + ' ' + (o ? rate(section, o.rate) + ' (' + interval(section, o) + ')' + state(o) : 'nothing usable');
  const outcomeBrief = (data, section, s, o) => data.systems[s] + ' ' + (o ? rate(section, o.rate) : '-');
  // The rates of all systems, or of some, under a heading.
  const outcomeTip = (data, section, row, head, systems = data.systems.map((_, s) => s)) => tip(head, systems.map((s) => outcomeLine(data, section, s, row.outcomes[s])), systems.map((s) => outcomeBrief(data, section, s, row.outcomes[s])));
  const ratioLine = (name, r) => name + ' ' + percent(r.ratio) + (r.low === null ? ', no interval' : ' (' + percent(r.low) + ' to ' + percent(r.high) + ')') + ', ' + (r.single ? 'single run: more than clocks explain' : r.standing.replaceAll('-', ' '));
  const pairTip = (data, section, row, choice, prefix = '') => {
    const { name, a, b } = data.comparisons[choice];
    return tip(ratioLine(name, row.ratios[choice]), [prefix + where(section, row), ...[a, b].map((s) => outcomeLine(data, section, s, row.outcomes[s]))]);
  };
  const where = (section, row) => section.axes.map((a, i) => axisName(a) + ' ' + (row.at[i] ?? 'none')).join(', ');

  // Colour of a ratio: hue by direction, strength by size, faded by the width of its interval.
  function ratioColour(theme, r, reach) {
    if (r.standing === 'not-resolved' && r.low === null && !r.single) return theme.unsure;
    const log = Math.log(r.ratio), strength = Math.min(1, Math.abs(log) / reach);
    const width = r.low === null ? 1 : Math.min(1, (Math.log(r.high) - Math.log(r.low)) / 2 / 0.15);
    const hue = mix(theme.parity, log > 0 ? theme.faster : theme.slower, 0.12 + 0.88 * strength);
    return mix(r.standing === 'about-the-same' ? theme.parity : hue, theme.unsure, r.standing === 'not-resolved' && !r.single ? 0.75 : 0.6 * width);
  }
  const inkOn = (rgb) => (0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2] > 117 ? '#10161d' : '#ffffff');
  const grid = (section) => ({ xs: distinct(section.rows.map((r) => at(r, 1))), ys: distinct(section.rows.map((r) => at(r, 0))) });

  // Cells by the first axis up and the second across.
  function cells(theme, section, items, name, formatter) {
    const { xs, ys } = grid(section);
    return {
      ...base(theme), grid: { left: 64, right: 10, top: 14, bottom: 48 },
      xAxis: axis(theme, section.axes[1] ? axisName(section.axes[1]).replace(/^(file|record)$/, '$1 size') : '', { type: 'category', data: xs, splitLine: { show: false } }),
      yAxis: axis(theme, axisName(section.axes[0]).replace(/^(file|record)$/, '$1 size'), { type: 'category', data: ys, nameGap: 50, splitLine: { show: false } }),
      visualMap: { type: 'piecewise', show: false, pieces: [{ gt: -99, lt: 99 }], seriesIndex: 0 },
      tooltip: { ...base(theme).tooltip, formatter },
      series: [{ type: 'heatmap', name, data: items, emphasis: { itemStyle: { borderColor: theme.ink, borderWidth: 2 } } }],
    };
  }

  // Frames of the parts in which one system is faster, each with its number: solid where the later system is faster, dashed where
  // it is slower. A click leads to the sentence.
  function frames(theme, section, choice) {
    const { xs, ys } = grid(section), parts = section.parts.filter((part) => part.comparison === choice);
    const corner = (part, of) => { const rows = part.rows.map((r) => section.rows[r]); return [of(...rows.map((r) => xs.indexOf(at(r, 1)))), of(...rows.map((r) => ys.indexOf(at(r, 0))))]; };
    return {
      type: 'custom', name: 'parts', z: 5, tooltip: { formatter: ({ data }) => escape(data.tip) },
      data: parts.map((part) => ({
        value: [...corner(part, Math.min), ...corner(part, Math.max)], part: part.number,
        tip: 'part ' + part.number + ': ' + percent(part.ratio[0]) + (part.ratio[1] === null ? '' : ' (' + percent(part.ratio[1]) + ' to ' + percent(part.ratio[2]) + ')') + ', ' + part.direction + (part.evidence === 'on-average' ? ' on average' : '') + '; click: its sentence',
      })),
      encode: { x: [0, 2], y: [1, 3] },
      renderItem: (params, api) => {
        const [width, height] = api.size([1, 1]), low = api.coord([api.value(0), api.value(1)]), high = api.coord([api.value(2), api.value(3)]);
        const part = parts[params.dataIndex], inset = 2 + (params.dataIndex % 3) * 2, x = low[0] - width / 2 + inset, y = high[1] - height / 2 + inset;
        const shape = { x, y, width: high[0] - low[0] + width - 2 * inset, height: low[1] - high[1] + height - 2 * inset, r: 4 }, slower = part.direction === 'slower', label = (slower ? '\u25bc' : '\u25b2') + part.number;
        return { type: 'group', children: [
          { type: 'rect', shape, style: { fill: 'none', stroke: theme.ink, lineWidth: 2, lineDash: slower ? [6, 4] : null }, silent: true },
          { type: 'rect', shape: { x: x - 1, y: y - 7, width: 9 + 7 * label.length, height: 15, r: 7 }, style: { fill: theme.ink } },
          { type: 'text', style: { text: label, x: x + 3.5 + 3.5 * label.length, y: y + 0.5, align: 'center', verticalAlign: 'middle', fill: theme.panel, font: '700 11px system-ui, sans-serif' }, silent: true },
        ] };
      },
    };
  }

  // Between the sizes of files where the reads of a system fall: its server's cache may end there.
  function cliffs(data, section, theme, systems) {
    const { xs, ys } = grid(section), found = section.cliffs.filter((cliff) => systems.includes(cliff.system));
    return {
      type: 'custom', name: 'cliffs', z: 4, tooltip: { formatter: ({ data }) => escape(data.tip) },
      data: found.map((cliff) => ({
        value: [0, ys.indexOf(cliff.between[0]), xs.length - 1, ys.indexOf(cliff.between[1])],
        tip: data.systems[cliff.system] + ' falls from ' + rate(section, cliff.rates[0]) + ' to ' + rate(section, cliff.rates[1]) + ' between files of ' + cliff.between.join(' and '),
      })),
      encode: { x: [0, 2], y: [1, 3] },
      renderItem: (params, api) => {
        const [width] = api.size([1, 1]), low = api.coord([api.value(0), api.value(1)]), high = api.coord([api.value(2), api.value(3)]), y = (low[1] + high[1]) / 2;
        return { type: 'line', shape: { x1: low[0] - width / 2, y1: y, x2: high[0] + width / 2, y2: y }, style: { stroke: series(theme, found[params.dataIndex].system), lineWidth: 3, lineDash: [6, 4] } };
      },
    };
  }

  const farthest = (found) => Math.min(Math.log(4), Math.max(Math.log(1.15), ...found.map(({ r }) => Math.abs(Math.log(r.ratio)))));
  // One cell of a map of ratios: colour, frame and text.
  function ratioItem(theme, r, reach, isLabelled, at) {
    const fill = ratioColour(theme, r, reach), open = r.standing === 'not-resolved' && !r.single;
    return {
      ...at, visualMap: false,
      itemStyle: { color: css(fill), borderColor: open ? theme.soft : theme.panel, borderWidth: open ? 1 : 2, borderType: open ? 'dashed' : 'solid', borderRadius: 3 },
      label: { show: isLabelled, color: inkOn(fill), fontSize: 11, formatter: open ? '?' : r.standing === 'about-the-same' ? '=' : r.ratio >= 2 || r.ratio <= 0.5 ? '\u00d7' + three(r.ratio) : percent(r.ratio).replace(' %', '') },
    };
  }
  function ratio(data, section, theme, choice, width) {
    const comparison = data.comparisons[choice], { xs, ys } = grid(section);
    const found = section.rows.map((row, index) => ({ row, index, r: row.ratios[choice] })).filter((c) => c.r), reach = farthest(found);
    const items = found.map(({ row, index, r }) => ratioItem(theme, r, reach, width / xs.length > 34, { value: [xs.indexOf(at(row, 1)), ys.indexOf(at(row, 0)), Math.log(r.ratio)], row: index }));
    const option = cells(theme, section, items, comparison.name, ({ data: item }) => pairTip(data, section, section.rows[item.row], choice));
    option.series.push(frames(theme, section, choice), cliffs(data, section, theme, [comparison.a, comparison.b]));
    return option;
  }

  // The tests that the map of all shows: those of the sweeps, or else of the depth studies.
  function mapped(data, choice) {
    const of = (view) => data.sections.map((section, index) => ({ section, index })).filter(({ section }) => section.view === view && section.rows.some((row) => row.ratios[choice]));
    return of('sweep').length ? of('sweep') : of('depth');
  }
  // The ratios of a pair in all tests: one line per test, its cells side by side.
  function overview(data, _, theme, choice, width) {
    const tests = mapped(data, choice), label = (row) => row.at.map((value) => value ?? '').join('\n');
    const xs = distinct(tests.flatMap(({ section }) => section.rows.map(label)));
    const found = tests.flatMap(({ section, index }, y) => section.rows.map((row, number) => ({ r: row.ratios[choice], x: xs.indexOf(label(row)), y, row, number, section, index }))).filter((c) => c.r);
    const reach = farthest(found), titles = shortTitles(tests.map(({ section }) => section.title)), axes = tests[0].section.axes.map((name) => axisName(name).replace(/^(file|record)$/, '$1 size'));
    const left = Math.min(width * 0.36, 20 + 7.2 * Math.max(...titles.map((title) => title.length))), inner = width + 72 - left - 10;
    return {
      ...base(theme), grid: { left, right: 10, top: 4, bottom: 22 + 15 * axes.length },
      xAxis: axis(theme, axes.join(' above '), { type: 'category', data: xs, nameGap: 8 + 14 * axes.length, splitLine: { show: false }, axisLabel: { interval: Math.max(0, Math.ceil(xs.length * 52 / inner) - 1), lineHeight: 14, fontSize: 11 } }),
      yAxis: axis(theme, '', { type: 'category', data: titles, inverse: true, splitLine: { show: false }, axisLabel: { interval: 0, hideOverlap: false, width: left - 10, overflow: 'truncate', color: theme.ink } }),
      visualMap: { type: 'piecewise', show: false, pieces: [{ gt: -99, lt: 99 }], seriesIndex: 0 },
      tooltip: { ...base(theme).tooltip, formatter: ({ data: item }) => pairTip(data, data.sections[item.section], data.sections[item.section].rows[item.row], choice, data.sections[item.section].title + ', ') },
      series: [{
        type: 'heatmap', name: data.comparisons[choice].name, emphasis: { itemStyle: { borderColor: theme.ink, borderWidth: 2 } },
        data: found.map(({ r, x, y, number, index }) => {
          const item = ratioItem(theme, r, reach, inner / xs.length > 34, { value: [x, y, Math.log(r.ratio)], row: number, section: index });
          // Frames would cover narrow cells.
          if (inner / xs.length < 14) item.itemStyle.borderWidth = 0;
          return item;
        }),
      }],
    };
  }
  // Titles without the words that all of them end with.
  function shortTitles(titles) {
    const ends = distinct(titles.map((title) => (title.includes(', ') ? title.slice(title.indexOf(', ')) : '')));
    return ends.length === 1 ? titles.map((title) => title.slice(0, title.length - ends[0].length)) : titles;
  }

  // Throughput of one system, as a share of the most it gave.
  function level(data, section, theme, choice, width) {
    const { xs, ys } = grid(section), most = Math.max(...section.rows.map((row) => row.outcomes[choice]?.rate ?? 0));
    const items = section.rows.map((row, index) => ({ row, index, o: row.outcomes[choice] })).filter((c) => c.o).map(({ row, index, o }) => {
      const fill = mix(theme.parity, theme.faster, o.rate / most);
      return {
        value: [xs.indexOf(at(row, 1)), ys.indexOf(at(row, 0)), o.rate / most], visualMap: false, row: index, itemStyle: { color: css(fill), borderColor: theme.panel, borderWidth: 2, borderRadius: 3 },
        label: { show: width / xs.length > 52, color: inkOn(fill), fontSize: 11, formatter: tick(rate(section, o.rate)) },
      };
    });
    const option = cells(theme, section, items, data.systems[choice], ({ data: item }) => outcomeTip(data, section, section.rows[item.row], where(section, section.rows[item.row])));
    option.series.push(cliffs(data, section, theme, [choice]));
    return option;
  }

  // Logarithmic where the systems differ by more than this factor.
  const LOGARITHMIC_FROM = 10;
  function rateAxis(rows) {
    const differs = rows.some((row) => { const rates = row.outcomes.filter((o) => o?.rate > 0).map((o) => o.rate); return Math.max(...rates) > LOGARITHMIC_FROM * Math.min(...rates); });
    const bounds = rows.flatMap((row) => row.outcomes.flatMap((o) => (o ? [o.low ?? o.rate, o.high ?? o.rate] : []))).filter((v) => v > 0);
    return differs ? { type: 'log', min: 10 ** Math.floor(Math.log10(Math.min(...bounds))), max: Math.max(...bounds) * 1.2 } : { type: 'value', min: 0 };
  }
  // Lines with error bars along a category axis, one line per system.
  function lines(data, section, theme, rows, labels, name) {
    return {
      ...base(theme), legend: legend(theme, data.systems), grid: { left: 72, right: 14, top: 36, bottom: 48 },
      xAxis: axis(theme, name, { type: 'category', data: labels, splitLine: { show: false } }),
      yAxis: axis(theme, '', { ...rateAxis(rows), axisLabel: { showMaxLabel: rateAxis(rows).type === 'value', formatter: (v) => (v === 0 ? '0' : tick(rate(section, v))) } }),
      tooltip: { ...base(theme).tooltip, trigger: 'axis', formatter: (points) => { const row = rows[points[0].dataIndex]; return outcomeTip(data, section, row, where(section, row)); } },
      series: data.systems.flatMap((system, s) => [
        line(theme, s, system, rows.map((row) => row.outcomes[s]?.rate ?? null)),
        bars(theme, s, system, rows.map((row, i) => [i, row.outcomes[s]?.low ?? null, row.outcomes[s]?.high ?? null])),
      ]),
    };
  }
  const byFirstAxis = (section, choice) => section.rows.filter((row) => at(row, 0) === choice);
  function throughput(data, section, theme, choice) {
    const rows = byFirstAxis(section, choice);
    return lines(data, section, theme, rows, rows.map((row) => at(row, 1)), axisName(section.axes[1]).replace('record', 'record size'));
  }
  function depth(data, section, theme, choice) {
    const rows = byFirstAxis(section, choice), labels = rows.map((row) => at(row, 1)), option = lines(data, section, theme, rows, labels, '');
    option.grid = [{ ...option.grid, bottom: '54%', top: 58 }, { ...option.grid, top: '56%', bottom: 48 }];
    option.xAxis = [option.xAxis, axis(theme, 'operations in flight', { type: 'category', data: labels, gridIndex: 1, splitLine: { show: false } })];
    option.yAxis = [{ ...option.yAxis, ...above(theme), name: 'throughput' }, axis(theme, 'client CPU per operation', { type: 'value', gridIndex: 1, ...above(theme), axisLabel: { formatter: (v) => (v === 0 ? '0' : tick(time(v))) } })];
    option.axisPointer = { link: [{ xAxisIndex: 'all' }] };
    data.systems.forEach((system, s) => option.series.push(line(theme, s, system, rows.map((row) => row.outcomes[s] ? row.outcomes[s].cpu_user + row.outcomes[s].cpu_kernel : null), { xAxisIndex: 1, yAxisIndex: 1 })));
    return option;
  }

  // Three panels on one axis of users: throughput, response, participation.
  function load(data, section, theme) {
    const rows = section.rows.filter((row) => row.x[0] !== null), users = rows.map((row) => row.x[0]), option = base(theme);
    const most = Math.max(...rows.flatMap((row) => row.outcomes.map((o) => o?.high ?? o?.rate ?? 0)), ...section.lines.map((l) => l[2]?.[1] ?? 0));
    const wide = users.length > 1 && users[users.length - 1] / Math.max(1, users[0]) > 40, last = users[users.length - 1];
    const panel = (index, more) => axis(theme, index === 2 ? axisName(section.axes[0]) : '', { type: wide ? 'log' : 'value', min: wide ? users[0] : 0, gridIndex: index, splitLine: { show: false }, axisLabel: { show: index === 2 }, ...more });
    const side = { left: 72, right: 20 };
    option.legend = legend(theme, data.systems);
    option.grid = [{ ...side, top: 60, height: '30%' }, { ...side, top: '49%', height: '28%' }, { ...side, top: '84%', bottom: 46 }];
    option.xAxis = [panel(0), panel(1), panel(2)];
    option.yAxis = [
      axis(theme, 'throughput', { type: 'value', min: 0, max: most ? most * 1.1 : null, ...above(theme), axisLabel: { showMaxLabel: false, formatter: (v) => (v === 0 ? '0' : tick(rate(section, v))) } }),
      axis(theme, 'response time', { ...responseAxis(rows, section), gridIndex: 1, ...above(theme), axisLabel: { showMinLabel: false, showMaxLabel: false, formatter: (v) => (v ? tick(time(v)) : '0') } }),
      axis(theme, 'users that reported', { type: 'value', min: 0, max: 100, interval: 50, gridIndex: 2, ...above(theme), axisLabel: { formatter: '{value} %' } }),
    ];
    option.axisPointer = { link: [{ xAxisIndex: 'all' }] };
    option.tooltip = { ...option.tooltip, trigger: 'axis', formatter: (points) => {
      const row = rows.find((r) => r.x[0] === points[0].value[0]);
      if (!row) return '';
      const p95 = (o) => (o.p95 ? ', p95 ' + time(o.p95) : ''), known = data.systems.map((name, s) => [name, row.outcomes[s]]).filter(([, o]) => o);
      return tip(where(section, row), known.map(([name, o]) => name + ' ' + rate(section, o.rate) + p95(o) + ', ' + o.mps + ' of ' + o.assigned + ' reported' + (o.kept === undefined ? '' : o.kept ? ', objective kept' : ', objective missed')), known.map(([name, o]) => name + ' ' + rate(section, o.rate) + p95(o)));
    } };
    const points = (s, of) => rows.filter((row) => row.outcomes[s]).map((row) => [row.x[0], ...[of(row.outcomes[s])].flat()]);
    const second = { xAxisIndex: 1, yAxisIndex: 1 }, third = { xAxisIndex: 2, yAxisIndex: 2 };
    option.series = data.systems.flatMap((system, s) => [
      line(theme, s, system, points(s, (o) => o.rate), { markLine: marks(theme, section, s) }),
      bars(theme, s, system, points(s, (o) => [o.low, o.high])),
      ...guides(theme, section, s, system, points(s, (o) => o.rate), last),
      line(theme, s, system, points(s, (o) => o.p50 || null), { ...second, symbol: 'none', lineStyle: { width: 1 } }),
      line(theme, s, system, points(s, (o) => o.p95 || null), { ...second, markLine: s === 0 ? limits(theme, section) : undefined }),
      bars(theme, s, system, points(s, (o) => [o.spread?.[1][0] ?? null, o.spread?.[1][1] ?? null]), second),
      line(theme, s, system, points(s, (o) => o.p99 || null), { ...second, symbol: 'none', lineStyle: { width: 1.4, type: 'dotted' } }),
      line(theme, s, system, points(s, (o) => o.assigned ? o.mps / o.assigned * 100 : null), third),
    ]);
    return option;
  }
  // Logarithmic where the times are far apart.
  function responseAxis(rows, section) {
    const times = [...rows.flatMap((row) => row.outcomes.flatMap((o) => (o ? [o.p50, o.p99] : []))), ...section.limits.map(([, ns]) => ns)].filter((ns) => ns > 0);
    const low = Math.min(...times), high = Math.max(...times);
    return !times.length || high / low < 30 ? { type: 'value', min: 0 } : { type: 'log', min: low * 0.7, max: high * 1.4 };
  }
  function marks(theme, section, s) {
    const colour = series(theme, s), label = (formatter) => ({ formatter, color: colour, position: 'end', rotate: 0, distance: 2, fontSize: 11 });
    const stress = section.stress.filter((p) => p.system === s && p.after !== null).map((p) => ({ xAxis: p.after, label: label('stress point ' + p.after) }));
    const knees = section.knees.filter(([system]) => system === s).map(([, users]) => ({ xAxis: users, label: { ...label('knee ' + Math.round(users)), position: 'insideEndBottom' }, lineStyle: { type: 'dotted' } }));
    return { silent: true, symbol: 'none', lineStyle: { color: colour, type: 'dashed' }, data: [...stress, ...knees] };
  }
  function limits(theme, section) {
    const name = (q) => (q === null ? 'mean' : 'p' + +(q * 100).toFixed(2));
    return { silent: true, symbol: 'none', lineStyle: { color: theme.ink, type: 'dashed' }, data: section.limits.map(([q, ns]) => ({ yAxis: ns, label: { formatter: 'objective: ' + name(q) + ' < ' + tick(time(ns)), color: theme.ink, position: 'insideStartTop', fontSize: 11 } })) };
  }
  // The pace of users who never wait, and what is predicted.
  function guides(theme, section, s, system, points, last) {
    const own = section.lines.find(([of]) => of === s), found = [];
    if (!own) return found;
    const [, unhindered, forecast] = own, end = forecast ? forecast[0] : last, plain = { symbol: 'none', silent: true, emphasis: { disabled: true } };
    if (unhindered) found.push(line(theme, s, system, [[0, 0], [end, end * unhindered]], { ...plain, lineStyle: { type: 'dotted', width: 1, opacity: 0.8 } }));
    if (forecast && points.length) {
      found.push(line(theme, s, system, [points[points.length - 1].slice(0, 2), [forecast[0], forecast[1]]], { silent: true, symbol: 'emptyCircle', lineStyle: { type: 'dashed', width: 1.2, color: theme.soft } }));
      found.push(bars(theme, s, system, [[forecast[0], forecast[2], forecast[3]]]));
    }
    return found;
  }

  return {
    draw: { ratio, overview, throughput, level, load, depth },
    parts: { base, axis, above, legend, line, bars, series, mix, css, at, axisName, time, rate, tick, three, percent, escape, tip, outcomeTip, pairTip, ratioLine, interval },
    distinct, where, mapped,
  };
})();
