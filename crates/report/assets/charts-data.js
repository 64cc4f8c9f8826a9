// The data of each chart as rows: for a download, and for the section of a single cell.
'use strict';
(() => {
  const { rate, ratioLine, time, interval } = Charts.parts;
  const quote = (v) => { const text = String(v ?? ''); return /[",\n\r]/.test(text) || /^[=+@-]/.test(text) && isNaN(text) ? '"' + text.replaceAll('"', '""') + '"' : text; };
  const text = (rows) => rows.map((cells) => cells.map(quote).join(',')).join('\r\n') + '\r\n';
  const FIELDS = ['rate', 'low', 'high', 'n', 'mean', 'p50', 'p95', 'p99', 'mps', 'assigned', 'errors', 'cpu_user', 'cpu_kernel', 'verdict'];
  const RATIO = ['ratio', 'low', 'high', 'standing'];

  function numbers(data, section) {
    const head = [...section.axes, ...data.systems.flatMap((s) => FIELDS.map((f) => s + ' ' + f)), ...data.comparisons.flatMap((c) => RATIO.map((f) => c.name + ' ' + f))];
    return [head, ...section.rows.map((row) => [...row.at, ...row.outcomes.flatMap((o) => FIELDS.map((f) => o?.[f])), ...row.ratios.flatMap((r) => RATIO.map((f) => r?.[f]))])];
  }
  function tail(data, section, choice) {
    const row = section.rows[choice];
    return [['system', 'kind', 'quantile', 'ns'], ...data.systems.flatMap((name, s) => ['response', 'service', 'lag'].flatMap((kind) => (row.outcomes[s]?.curve?.[kind] ?? []).map(([q, ns]) => [name, kind, q, ns])))];
  }
  function bands(data, section) {
    const head = [...section.axes, 'system', 'client cache', 'server cache', 'storage', 'server cache or storage', 'grade', 'rate'];
    return [head, ...section.rows.flatMap((row) => row.outcomes.flatMap((o, s) => (o?.bands ? [[...row.at, data.systems[s], ...o.bands.shares, o.bands.grade, o.rate]] : [])))];
  }
  function timeline(data) {
    const head = ['system', 'from_ms', 'to_ms', 'steps', 'lowest', 'middle', 'highest', 'errors', 'warnings', 'invalid', 'failed_checks', 'where'];
    return [head, ...data.timelines.flatMap((t) => t.stretches.map((x) => [data.systems[t.system], x[0], x[1], x[2], ...(x[3] ?? ['', '', '']), x[4], x[5], x[6], x[7].join(' '), x[8]]))];
  }
  function overview(data, choice) {
    const rows = Charts.mapped(data, choice).flatMap(({ section }) => section.rows.map((row) => [section.title, Charts.where(section, row), ...RATIO.map((f) => row.ratios[choice]?.[f])]));
    return [['test', 'cell', ...RATIO.map((f) => data.comparisons[choice].name + ' ' + f)], ...rows];
  }
  Charts.csv = (kind, data, section, choice) => text(kind === 'overview' ? overview(data, choice) : kind === 'tail' ? tail(data, section, choice) : kind === 'bands' ? bands(data, section) : kind === 'timeline' ? timeline(data) : numbers(data, section));

  // What is known of one cell: a table of systems, then ratios, then the remarks of the self-checks.
  Charts.cell = (data, section, row) => {
    const known = data.systems.map((name, s) => ({ name, o: row.outcomes[s] }));
    const least = (o, i, value) => (value ? (o.spread && !o.spread[i][2] ? '>= ' : '') + time(value) : '-');
    const cells = (o) => [
      rate(section, o.rate), interval(section, o), o.n, least(o, 0, o.p50), least(o, 1, o.p95), least(o, 2, o.p99), o.cpu_user + o.cpu_kernel ? time(o.cpu_user + o.cpu_kernel) : '-',
      o.mps + ' of ' + o.assigned, o.errors, o.bands ? o.bands.label : '-', o.verdict.replace('-', ' '),
    ];
    return {
      head: ['system', 'throughput', 'interval', 'repetitions', 'p50', 'p95', 'p99', 'CPU per operation', 'users that reported', 'failed', 'where bytes came from', 'self-checks'],
      rows: known.map(({ name, o }) => [name, ...(o ? cells(o) : ['nothing usable'])]),
      ratios: data.comparisons.flatMap((c, i) => (row.ratios[i] ? [ratioLine(c.name, row.ratios[i])] : [])),
      notes: known.flatMap(({ name, o }) => (o?.notes ?? []).map((note) => name + ': ' + data.notes[note])),
      curves: known.some(({ o }) => o?.curve && o.p50),
    };
  };
})();
