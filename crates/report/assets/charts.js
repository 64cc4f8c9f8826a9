// What each chart shows: data of the report -> options of Apache ECharts. No state, no document.
'use strict';
const Charts = (() => {
  const SYMBOLS = ['circle', 'rect', 'triangle', 'diamond', 'roundRect', 'pin'];
  const AXES = { file_size: 'file', record_size: 'record', motors: 'users', queue_depth: 'depth', rate: 'starts/s' };
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

  const base = (theme) => ({
    backgroundColor: 'transparent', animation: false, aria: { enabled: true },
    textStyle: { color: theme.soft, fontFamily: 'system-ui, sans-serif' },
    tooltip: { backgroundColor: theme.card, borderColor: theme.line, textStyle: { color: theme.ink, fontSize: 13 }, confine: true },
  });
  const axis = (theme, name, more) => ({
    name, nameLocation: 'middle', nameGap: 30, nameTextStyle: { color: theme.soft }, axisLine: { lineStyle: { color: theme.line } },
    axisLabel: { color: theme.soft, hideOverlap: true }, axisTick: { show: false }, splitLine: { lineStyle: { color: theme.line, opacity: 0.7 } }, ...more,
  });
  const legend = (theme, data) => ({ data, top: 0, left: 0, itemWidth: 20, textStyle: { color: theme.ink }, inactiveColor: theme.line });
  const line = (theme, system, name, data, more) => ({
    type: 'line', name, data, symbol: SYMBOLS[system % SYMBOLS.length], symbolSize: 7, connectNulls: false,
    lineStyle: { width: 2, color: theme.series[system % theme.series.length] }, itemStyle: { color: theme.series[system % theme.series.length] }, ...more,
  });
  // Error bars: one vertical bar with caps per point; x may be a category or a number.
  const bars = (theme, system, name, data, more) => ({
    type: 'custom', name, silent: true, z: 1, data: data.filter((d) => d[1] !== null), encode: { x: 0, y: [1, 2] },
    itemStyle: { color: theme.series[system % theme.series.length] },
    renderItem: (params, api) => {
      const low = api.coord([api.value(0), api.value(1)]), high = api.coord([api.value(0), api.value(2)]);
      const stroke = { stroke: theme.series[system % theme.series.length], lineWidth: 1.5, opacity: 0.75 };
      const segment = (x1, y1, x2, y2) => ({ type: 'line', shape: { x1, y1, x2, y2 }, style: stroke });
      return { type: 'group', children: [segment(low[0], low[1], high[0], high[1]), segment(low[0] - 4, low[1], low[0] + 4, low[1]), segment(high[0] - 4, high[1], high[0] + 4, high[1])] };
    }, ...more,
  });
  const interval = (section, o) => o.low === null ? 'no interval' : rate(section, o.low) + ' to ' + rate(section, o.high);
  const tipLine = (text) => '<br>' + escape(text);
  const outcomeTip = (data, section, row) => data.systems.map((name, s) => {
    const o = row.outcomes[s];
    if (!o) return tipLine(name + ': nothing usable');
    return '<br><b>' + escape(name) + '</b> ' + escape(rate(section, o.rate)) + ' (' + escape(interval(section, o)) + ')' +
      tipLine(o.n + ' repetitions, p50 ' + time(o.p50) + ', p99 ' + time(o.p99) + (o.verdict === 'valid' ? '' : ', ' + o.verdict));
  }).join('');
  const where = (section, row) => section.axes.map((a, i) => (AXES[a] ?? a.replaceAll('_', ' ')) + ' ' + (row.at[i] ?? 'none')).join(', ');

  // Colour of a ratio: hue by direction, strength by size, faded by the width of its interval.
  function ratioColour(theme, r, reach) {
    if (r.standing === 'not-resolved' && r.low === null) return theme.unsure;
    const log = Math.log(r.ratio), strength = Math.min(1, Math.abs(log) / reach);
    const width = r.low === null ? 1 : Math.min(1, (Math.log(r.high) - Math.log(r.low)) / 2 / 0.15);
    const hue = mix(theme.parity, log > 0 ? theme.faster : theme.slower, 0.12 + 0.88 * strength);
    return mix(r.standing === 'about-the-same' ? theme.parity : hue, theme.unsure, r.standing === 'not-resolved' ? 0.75 : 0.6 * width);
  }
  const inkOn = (rgb) => (0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2] > 140 ? '#10161d' : '#ffffff');

  function ratio(data, section, theme, choice, width) {
    const comparison = data.comparisons[choice], xs = distinct(section.rows.map((r) => r.at[1] ?? '')), ys = distinct(section.rows.map((r) => r.at[0] ?? ''));
    const cells = section.rows.map((row, index) => ({ row, index, r: row.ratios[choice] })).filter((c) => c.r);
    const reach = Math.min(Math.log(4), Math.max(Math.log(1.15), ...cells.map((c) => Math.abs(Math.log(c.r.ratio)))));
    const labelled = width / xs.length > 34;
    const items = cells.map(({ row, index, r }) => {
      const fill = ratioColour(theme, r, reach), open = r.standing === 'not-resolved';
      return {
        value: [xs.indexOf(row.at[1] ?? ''), ys.indexOf(row.at[0] ?? ''), Math.log(r.ratio)], visualMap: false, row: index,
        itemStyle: { color: css(fill), borderColor: open ? theme.soft : theme.card, borderWidth: open ? 1 : 2, borderType: open ? 'dashed' : 'solid', borderRadius: 3 },
        label: { show: labelled, color: inkOn(fill), fontSize: 11, formatter: open ? '?' : r.standing === 'about-the-same' ? '=' : r.ratio >= 2 || r.ratio <= 0.5 ? '×' + three(r.ratio) : percent(r.ratio).replace(' %', '') },
      };
    });
    return {
      ...base(theme),
      grid: { left: 64, right: 8, top: 10, bottom: 48 },
      xAxis: axis(theme, 'record size', { type: 'category', data: xs, splitLine: { show: false } }),
      yAxis: axis(theme, 'file size', { type: 'category', data: ys, nameGap: 50, splitLine: { show: false } }),
      visualMap: { type: 'piecewise', show: false, pieces: [{ gt: -99, lt: 99 }], seriesIndex: 0 },
      tooltip: {
        ...base(theme).tooltip, formatter: ({ data: item }) => {
          const row = section.rows[item.row], r = row.ratios[choice];
          const bounds = r.low === null ? 'no interval' : percent(r.low) + ' to ' + percent(r.high);
          return '<span class="tip"><b>' + escape(comparison.name + ' ' + percent(r.ratio)) + '</b> (' + bounds + '), ' + r.standing.replaceAll('-', ' ') +
            tipLine(where(section, row)) + outcomeTip(data, section, row) + '<br>click: the table row</span>';
        },
      },
      series: [{ type: 'heatmap', name: comparison.name, data: items, emphasis: { itemStyle: { borderColor: theme.ink, borderWidth: 2 } } }],
    };
  }

  // Lines with error bars along a category axis, one line per system.
  function lines(data, section, theme, rows, labels, name) {
    const series = data.systems.flatMap((system, s) => [
      line(theme, s, system, rows.map((row) => row.outcomes[s]?.rate ?? null)),
      bars(theme, s, system, rows.map((row, i) => [i, row.outcomes[s]?.low ?? null, row.outcomes[s]?.high ?? null])),
    ]);
    return {
      ...base(theme), legend: legend(theme, data.systems), grid: { left: 72, right: 12, top: 36, bottom: 48 },
      xAxis: axis(theme, name, { type: 'category', data: labels, splitLine: { show: false } }),
      yAxis: axis(theme, '', { type: 'value', min: 0, axisLabel: { color: theme.soft, formatter: (v) => (v === 0 ? '0' : tick(rate(section, v))) } }),
      tooltip: { ...base(theme).tooltip, trigger: 'axis', formatter: (points) => { const row = rows[points[0].dataIndex]; return '<b>' + escape(where(section, row)) + '</b>' + outcomeTip(data, section, row); } },
      series,
    };
  }
  const byFirstAxis = (section, choice) => section.rows.filter((row) => (row.at[0] ?? '') === choice);
  function throughput(data, section, theme, choice) {
    const rows = byFirstAxis(section, choice);
    return lines(data, section, theme, rows, rows.map((row) => row.at[1] ?? ''), 'record size');
  }
  function depth(data, section, theme, choice) {
    const rows = byFirstAxis(section, choice), option = lines(data, section, theme, rows, rows.map((row) => row.at[1] ?? ''), '');
    const cpu = data.systems.map((system, s) => line(theme, s, system, rows.map((row) => row.outcomes[s] ? (row.outcomes[s].cpu_user + row.outcomes[s].cpu_kernel) : null), { xAxisIndex: 1, yAxisIndex: 1 }));
    return stacked(theme, option, cpu, rows.map((row) => row.at[1] ?? ''), 'operations in flight', 'client CPU per operation', 'category', 'value');
  }
  // A second panel below the first, on the same horizontal axis.
  function stacked(theme, option, second, labels, name, secondName, xType, yType) {
    const titles = { nameLocation: 'end', nameGap: 10, nameTextStyle: { color: theme.soft, align: 'left' } };
    option.grid = [{ ...option.grid, bottom: '56%', top: 54 }, { ...option.grid, top: '55%', bottom: 48 }];
    option.xAxis = [option.xAxis, axis(theme, name, { type: xType, data: labels, gridIndex: 1, splitLine: { show: false } })];
    option.yAxis = [{ ...option.yAxis, ...titles, name: 'throughput' }, axis(theme, secondName, { type: yType, gridIndex: 1, ...titles, axisLabel: { color: theme.soft, formatter: (v) => (v === 0 ? '0' : tick(time(v))) } })];
    option.axisPointer = { link: [{ xAxisIndex: 'all' }] };
    option.series.push(...second);
    return option;
  }
  function load(data, section, theme) {
    const labels = section.rows.map((row) => row.at[0] ?? ''), option = lines(data, section, theme, section.rows, labels, '');
    const p95 = data.systems.map((system, s) => line(theme, s, system, section.rows.map((row) => row.outcomes[s]?.p95 ?? null), { xAxisIndex: 1, yAxisIndex: 1 }));
    for (const stress of section.stress) {
      if (stress.after === null) continue;
      const colour = theme.series[stress.system % theme.series.length];
      option.series[stress.system * 2].markLine = { silent: true, symbol: 'none', lineStyle: { color: colour, type: 'dashed' }, label: { formatter: 'stress point', color: colour, position: 'end', rotate: 0, distance: 2 }, data: [{ xAxis: labels.indexOf(String(stress.after)) }] };
    }
    return stacked(theme, option, p95, labels, AXES[section.axes[0]] ?? '', 'p95 response', 'category', 'value');
  }
  function tail(data, section, theme, choice) {
    const row = section.rows[choice], dash = { response: 'solid', service: 'dashed', lag: 'dotted' };
    const series = data.systems.flatMap((system, s) => Object.keys(dash).flatMap((kind) => {
      const curve = row.outcomes[s]?.curve?.[kind];
      return curve?.length ? [line(theme, s, kind === 'response' ? system : system + ' ' + kind, curve.map(([q, ns]) => [-Math.log10(1 - q), ns]), { showSymbol: false, lineStyle: { width: kind === 'response' ? 2.2 : 1.4, type: dash[kind], color: theme.series[s % theme.series.length] } })] : [];
    }));
    return {
      ...base(theme), legend: { ...legend(theme, series.map((s) => s.name)), type: 'plain' }, grid: { left: 72, right: 16, top: series.length > 4 ? 84 : 54, bottom: 48 },
      xAxis: axis(theme, 'share of operations that were faster', { type: 'value', interval: 1, axisLabel: { color: theme.soft, formatter: (v) => ['0 %', '90 %', '99 %', '99.9 %', '99.99 %', '99.999 %'][v] ?? '' } }),
      yAxis: axis(theme, '', { type: 'log', axisLabel: { color: theme.soft, formatter: (v) => tick(time(v)) } }),
      tooltip: { ...base(theme).tooltip, trigger: 'axis', formatter: (points) => '<b>' + ((1 - 10 ** -points[0].value[0]) * 100).toPrecision(5) + ' % are faster than</b>' + points.map((p) => tipLine(p.seriesName + ' ' + time(p.value[1]))).join('') },
      series,
    };
  }

  // The rows of a chart as comma-separated values, for a download.
  function csv(data, section) {
    const quote = (v) => { const text = String(v ?? ''); return /[",\n\r]/.test(text) || /^[=+@-]/.test(text) && isNaN(text) ? '"' + text.replaceAll('"', '""') + '"' : text; };
    const fields = ['rate', 'low', 'high', 'n', 'mean', 'p50', 'p95', 'p99', 'mps', 'assigned', 'errors', 'cpu_user', 'cpu_kernel', 'verdict'];
    const head = [...section.axes, ...data.systems.flatMap((s) => fields.map((f) => s + ' ' + f)), ...data.comparisons.flatMap((c) => ['ratio', 'low', 'high', 'standing'].map((f) => c.name + ' ' + f))];
    const body = section.rows.map((row) => [...row.at, ...row.outcomes.flatMap((o) => fields.map((f) => o?.[f])), ...row.ratios.flatMap((r) => ['ratio', 'low', 'high', 'standing'].map((f) => r?.[f]))]);
    return [head, ...body].map((cells) => cells.map(quote).join(',')).join('\r\n') + '\r\n';
  }
  return { draw: { ratio, throughput, load, depth, tail }, csv, distinct, where };
})();
