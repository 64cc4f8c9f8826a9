// The surface of a test: file size by record size by rate, as IOzone's users know it. Drawn by ECharts GL where the
// browser has WebGL; the ratio map next to it stays the reference.
'use strict';
(() => {
  const { axisName, at, css, mix, outcomeTip, percent, rate, tick } = Charts.parts;
  const missing = NaN;

  // One system's rates, or with a choice beyond the systems a comparison's ratios: [x, y, z] over the whole grid.
  function points(data, section, choice) {
    const pair = choice - data.systems.length, rows = new Map(section.rows.map((row, index) => [at(row, 1) + '\n' + at(row, 0), index]));
    const xs = Charts.distinct(section.rows.map((row) => at(row, 1))), ys = Charts.distinct(section.rows.map((row) => at(row, 0)));
    const value = (row) => (pair < 0 ? row?.outcomes[choice]?.rate : row?.ratios[pair] && (row.ratios[pair].ratio - 1) * 100) ?? missing;
    const cells = ys.flatMap((y, j) => xs.map((x, i) => { const index = rows.get(x + '\n' + y); return { value: [i, j, value(section.rows[index])], index }; }));
    return { xs, ys, cells, pair };
  }

  // All systems have the same scale, so that heights can be compared.
  function heights(data, section, pair, values) {
    if (pair < 0) return [0, Math.max(...section.rows.flatMap((row) => row.outcomes.map((o) => o?.rate ?? 0)))];
    const reach = Math.max(2, ...values.map(Math.abs));
    return [Math.max(-100, -reach), reach];
  }

  function surface(data, section, theme, choice) {
    const { xs, ys, cells, pair } = points(data, section, choice), [min, max] = heights(data, section, pair, cells.map((cell) => cell.value[2]).filter((v) => !isNaN(v)));
    const shown = (v) => (pair < 0 ? (v === 0 ? '0' : tick(rate(section, v))) : percent(1 + v / 100));
    // Lines higher than the library's, which cuts the letters of some fonts.
    const text = { color: theme.soft, fontSize: 12, lineHeight: 20 };
    const side = (name, labels) => ({ type: 'category', name: name.replace(/^(file|record)$/, '$1 size'), data: labels, nameGap: 26, nameTextStyle: { ...text, color: theme.ink }, axisLabel: text });
    return {
      backgroundColor: theme.panel, animation: false, textStyle: { color: theme.soft },
      tooltip: { backgroundColor: theme.panel, borderColor: theme.line, textStyle: { color: theme.ink, fontSize: 13 }, confine: true, formatter: ({ dataIndex }) => {
        const row = section.rows[cells[dataIndex]?.index];
        return row ? (pair < 0 ? outcomeTip(data, section, row, Charts.where(section, row)) : Charts.parts.pairTip(data, section, row, pair)) : '';
      } },
      visualMap: { type: 'continuous', dimension: 2, min, max, calculable: false, left: 0, top: 0, itemHeight: 90, itemWidth: 12, text: [shown(max), shown(min)], textStyle: { color: theme.ink },
        inRange: { color: pair < 0 ? [css(mix(theme.parity, theme.faster, 0.15)), css(theme.faster)] : [css(theme.slower), css(theme.parity), css(theme.faster)] } },
      xAxis3D: side(axisName(section.axes[1]), xs), yAxis3D: side(axisName(section.axes[0]), ys),
      zAxis3D: { type: 'value', name: '', min, max, axisLabel: { ...text, margin: 24, formatter: shown } },
      grid3D: {
        boxWidth: 110, boxDepth: 110, boxHeight: 70, axisLine: { lineStyle: { color: theme.soft } }, splitLine: { lineStyle: { color: theme.line } }, axisPointer: { lineStyle: { color: theme.ink }, label: { show: false } },
        light: { main: { intensity: 0.9, alpha: 40, beta: 30, shadow: false }, ambient: { intensity: 0.5 } }, postEffect: { enable: false }, temporalSuperSampling: { enable: false },
        // The wheel and two fingers belong to the page.
        viewControl: { alpha: 28, beta: 35, distance: 230, zoomSensitivity: 0, panSensitivity: 0, damping: 0 },
      },
      series: [{ type: 'surface', shading: 'lambert', parametric: false, wireframe: { show: true, lineStyle: { color: theme.soft, width: 1 } }, data: cells.map((cell) => ({ value: cell.value })) }],
    };
  }

  Charts.draw.surface = surface;
  // What there is to see: each system, then each pair.
  Charts.surfaces = (data, section) => [...data.systems, ...data.comparisons.map((pair) => pair.name + ', percent')].map((label, value) => ({ value, label })).filter(({ value }) => points(data, section, value).cells.some((cell) => !isNaN(cell.value[2])));
})();
