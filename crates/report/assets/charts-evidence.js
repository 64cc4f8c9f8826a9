// Charts of evidence: cache bands, percentiles, the run over time, client CPU.
'use strict';
(() => {
  const { base, axis, above, legend, line, bars, series, at, axisName, time, rate, tick, three, tip } = Charts.parts;
  const BANDS = ['client cache', 'server cache', 'storage', 'server cache or storage'];

  // Cells of a section in lines along its first axis: [label, rows].
  function along(section) {
    if (section.axes.length < 2) return [['', section.rows]];
    return Charts.distinct(section.rows.map((r) => at(r, 1))).map((v) => [axisName(section.axes[1]) + ' ' + v, section.rows.filter((r) => at(r, 1) === v)]);
  }

  // One panel per system: shares of the bytes, and throughput above them.
  function bands(data, section, theme, choice) {
    const [, rows] = along(section)[choice], labels = rows.map((row) => at(row, 0));
    const systems = data.systems.map((name, s) => ({ name, s })).filter(({ s }) => rows.some((row) => row.outcomes[s]?.bands));
    const option = base(theme), height = 86 / Math.max(1, systems.length), colours = theme.bands;
    const marked = data.memory && section.axes[0] === 'file_size' ? rows.findIndex((row) => row.x[0] >= data.memory) : -1;
    option.legend = legend(theme, [...BANDS, 'throughput']);
    option.grid = systems.map((_, i) => ({ left: 56, right: 76, top: 11 + i * height + '%', height: height - 14 + '%' }));
    option.xAxis = systems.map((_, i) => axis(theme, i === systems.length - 1 ? axisName(section.axes[0]).replace(/^(file|record)$/, '$1 size') : '', { type: 'category', data: labels, boundaryGap: rows.length === 1, gridIndex: i, splitLine: { show: false } }));
    option.yAxis = systems.flatMap(({ name }, i) => [
      axis(theme, name, { type: 'value', min: 0, max: 1, interval: 0.5, gridIndex: i, ...above(theme), nameTextStyle: { color: theme.ink, align: 'left', fontWeight: 600 }, axisLabel: { formatter: (v) => Math.round(v * 100) + ' %' } }),
      axis(theme, '', { type: 'value', min: 0, gridIndex: i, position: 'right', splitLine: { show: false }, axisLabel: { formatter: (v) => (v === 0 ? '0' : tick(rate(section, v))) } }),
    ]);
    option.tooltip = { ...option.tooltip, trigger: 'axis', formatter: (points) => {
      const row = rows[points[0].dataIndex];
      return tip(Charts.where(section, row), systems.map(({ name, s }) => { const o = row.outcomes[s]; return name + ' ' + (o?.bands ? o.bands.label : 'not known') + (o ? ', ' + rate(section, o.rate) : ''); }), systems.map(({ name, s }) => name + ' ' + (row.outcomes[s]?.bands?.label ?? 'not known')));
    } };
    option.series = systems.flatMap(({ name, s }, i) => [
      ...BANDS.map((band, b) => ({
        type: 'line', name: band, stack: name, symbol: rows.length === 1 ? 'roundRect' : 'none', xAxisIndex: i, yAxisIndex: 2 * i, lineStyle: { width: 0 }, areaStyle: { color: colours[b], opacity: 0.9 },
        itemStyle: { color: colours[b], decal: b === 3 ? { symbol: 'rect', dashArrayX: [1, 0], dashArrayY: [2, 5], rotation: -0.7, color: theme.soft } : undefined },
        data: rows.map((row) => row.outcomes[s]?.bands?.shares[b] ?? null),
      })),
      { ...line(theme, s, 'throughput', rows.map((row) => row.outcomes[s]?.rate ?? null), { xAxisIndex: i, yAxisIndex: 2 * i + 1 }), lineStyle: { width: 2, color: theme.ink }, itemStyle: { color: theme.ink },
        markLine: marked < 0 ? undefined : { silent: true, symbol: 'none', lineStyle: { color: theme.ink, type: 'dashed' }, data: [{ xAxis: marked, label: { formatter: 'memory here', color: theme.ink, position: 'insideEndTop' } }] } },
    ]);
    return option;
  }

  const nines = (quantile) => -Math.log10(1 - quantile);
  function tail(data, section, theme, choice) {
    const row = section.rows[choice], dash = { response: 'solid', service: 'dashed', lag: 'dotted' };
    const point = ([q, ns]) => [nines(q), ns];
    const found = data.systems.flatMap((system, s) => Object.keys(dash).flatMap((kind) => {
      const o = row.outcomes[s], curve = o?.curve?.[kind], own = { symbol: 'none', lineStyle: { width: kind === 'response' ? 2.4 : 1.4, type: dash[kind] } };
      if (!curve?.length) return [];
      if (kind !== 'response') return [line(theme, s, system, curve.map(point), own)];
      // What too few operations lie beyond is drawn thin.
      const sure = curve.filter(([q]) => q <= o.curve.resolved), open = curve.slice(Math.max(0, sure.length - 1));
      const bounds = [0.5, 0.95, 0.99].map((q, i) => [nines(q), ...(o.spread?.[i] ?? [null, null])]);
      return [
        line(theme, s, system, sure.map(point), own),
        ...(open.length > 1 ? [line(theme, s, system, open.map(point), { symbol: 'none', lineStyle: { width: 1, opacity: 0.7 } })] : []),
        bars(theme, s, system, bounds.filter((b) => b[1] !== null && b[1] > 0).map((b) => b.slice(0, 3))),
      ];
    }));
    const times = found.filter((one) => one.type === 'line').flatMap((one) => one.data.map((d) => d[1])).filter((v) => v > 0);
    return {
      ...base(theme), legend: legend(theme, data.systems), grid: { left: 72, right: 22, top: 40, bottom: 48 },
      xAxis: axis(theme, 'share of operations that were faster', { type: 'value', interval: 1, axisLabel: { formatter: (v) => ['0 %', '90 %', '99 %', '99.9 %', '99.99 %', '99.999 %', '99.9999 %'][v] ?? '' } }),
      yAxis: axis(theme, '', { type: 'log', min: times.length ? 10 ** Math.floor(Math.log10(Math.min(...times))) : 1, axisLabel: { formatter: (v) => tick(time(v)) } }),
      tooltip: { ...base(theme).tooltip, trigger: 'axis', formatter: (points) => tailTip(data, row, points[0].value[0]) },
      series: found,
    };
  }
  function tailTip(data, row, x) {
    const q = 1 - 10 ** -x, near = (curve) => curve?.reduce((best, one) => (Math.abs(nines(one[0]) - x) < Math.abs(nines(best[0]) - x) ? one : best), curve[0]);
    const shown = (kinds) => data.systems.map((system, s) => {
      const o = row.outcomes[s], parts = o?.curve ? kinds.filter((kind) => o.curve[kind].length).map((kind) => (kinds.length > 1 ? kind + ' ' : '') + time(near(o.curve[kind])[1])) : [];
      return parts.length ? system + ' ' + parts.join(', ') + (q > o.curve.resolved ? ' (at least)' : '') : '';
    });
    return tip((q * 100).toPrecision(5) + ' % are faster than', shown(['response', 'service', 'lag']), shown(['response']));
  }

  // Rate of each stretch over the usual one of its cell, over time.
  function timeline(data, section, theme) {
    const option = base(theme), all = data.timelines, many = all.some((t) => t.stretches.length > 80);
    const shares = all.flatMap((t) => t.stretches.flatMap((x) => x[3] ?? [])), low = Math.min(1, ...shares), high = Math.max(1, ...shares);
    const end = Math.max(1, ...all.flatMap((t) => t.stretches.map((x) => x[1] / 1000))), step = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 28800, 86400].find((s) => end / s <= 8) ?? 604800;
    const spot = (s) => (x) => ({ value: [x[0] / 1000, x[3][1], x[3][0], x[3][2]], stretch: x, symbolSize: x[5] + x[6] ? 9 : many ? 3.5 : 6, itemStyle: x[5] + x[6] ? { color: theme.panel, borderColor: series(theme, s), borderWidth: 2 } : undefined });
    option.legend = legend(theme, [...all.map((t) => data.systems[t.system]), 'failed operations']);
    option.grid = { left: 56, right: 20, top: 58, bottom: 48 };
    option.xAxis = axis(theme, 'since the start', { type: 'value', min: 0, max: Math.ceil(end / step * 4) * step / 4, interval: step, splitLine: { show: false }, axisLabel: { showMaxLabel: false, formatter: (v) => (v >= 7200 ? tick(three(v / 3600) + ' h') : v >= 120 ? tick(three(v / 60) + ' min') : v + ' s') } });
    option.yAxis = axis(theme, 'of the usual rate', { ...(high / low > 6 ? { type: 'log', min: low * 0.8, max: high * 1.25 } : { type: 'value', min: Math.floor(low * 9) / 10, max: Math.ceil(high * 11) / 10 }), ...above(theme), axisLabel: { formatter: (v) => tick(three(v) + ' ×').replace(' ', '') } });
    option.tooltip = { ...option.tooltip, trigger: 'item', formatter: (point) => {
      const x = point.data.stretch;
      if (!x) return '';
      const troubles = [x[4] ? x[4] + ' operations failed' : '', x[5] ? x[5] + ' with a warning' : '', x[6] ? x[6] + ' invalid' : '', x[7].length ? 'self-checks: ' + x[7].join(', ') : ''];
      return tip((point.data.system ?? point.seriesName) + ' after ' + (x[0] / 1000).toFixed(1) + ' s', [x[8] ?? x[2] + ' steps', x[3] ? three(x[3][1]) + ' of the usual rate' + (x[2] > 1 ? ', ' + three(x[3][0]) + ' to ' + three(x[3][2]) : '') : '', troubles.filter(Boolean).join(', ')]);
    } };
    option.series = all.flatMap((t) => {
      const moved = t.stretches.filter((x) => x[3]), name = data.systems[t.system];
      return [
        line(theme, t.system, name, moved.map(spot(t.system)), { lineStyle: { width: moved.length > 60 ? 0.6 : 1.2, opacity: 0.6 } }),
        bars(theme, t.system, name, moved.filter((x) => x[2] > 1).map((x) => [x[0] / 1000, x[3][0], x[3][2]])),
      ];
    });
    option.series.push({
      type: 'line', name: 'failed operations', symbol: 'triangle', symbolSize: 11, lineStyle: { width: 0 }, itemStyle: { color: theme.bad }, z: 6,
      data: all.flatMap((t) => t.stretches.filter((x) => x[4]).map((x) => ({ value: [x[0] / 1000, x[3]?.[1] ?? 1], stretch: x, system: data.systems[t.system] }))),
    });
    return option;
  }

  // Client CPU of one operation, user and kernel stacked, along the section's last axis.
  function cost(data, section, theme, choice) {
    const last = section.axes.length - 1, rows = section.rows.filter((row) => last < 1 || at(row, 0) === choice), labels = rows.map((row) => at(row, Math.max(0, last)));
    const option = base(theme), area = (s, part, of) => ({
      ...line(theme, s, data.systems[s], rows.map((row) => (row.outcomes[s] ? of(row.outcomes[s]) : null)), { lineStyle: { type: part === 'user' ? 'dashed' : 'solid', width: part === 'user' ? 1.2 : 2 }, ...(part === 'user' ? { symbol: 'none' } : {}) }),
    });
    option.legend = legend(theme, data.systems);
    option.grid = { left: 72, right: 14, top: 58, bottom: 48 };
    option.xAxis = axis(theme, axisName(section.axes[Math.max(0, last)]).replace('record', 'record size'), { type: 'category', data: labels, splitLine: { show: false } });
    option.yAxis = axis(theme, 'dashed: in user mode alone', { type: 'value', min: 0, ...above(theme), axisLabel: { formatter: (v) => (v === 0 ? '0' : tick(time(v))) } });
    option.tooltip = { ...option.tooltip, trigger: 'axis', formatter: (points) => {
      const row = rows[points[0].dataIndex];
      const known = data.systems.map((name, s) => [name, row.outcomes[s]]).filter(([, o]) => o);
      return tip(Charts.where(section, row), known.map(([name, o]) => name + ' ' + time(o.cpu_user) + ' + ' + time(o.cpu_kernel) + (o.cpu_byte ? ', ' + time(o.cpu_byte * 1e6) + ' per MB' : '')), known.map(([name, o]) => name + ' ' + time(o.cpu_user + o.cpu_kernel)));
    } };
    option.series = data.systems.flatMap((_, s) => [area(s, 'both', (o) => o.cpu_user + o.cpu_kernel), area(s, 'user', (o) => o.cpu_user)]);
    return option;
  }

  Object.assign(Charts.draw, { bands, tail, timeline, cost });
  Object.assign(Charts, { along });
})();
