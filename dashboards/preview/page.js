// Runs in the browser: draws a dashboard, whose panels have their answers, into the page.
'use strict';

(() => {
  const COLOURS = {green: '#56a64b', orange: '#ff9830', red: '#e02f44', 'dark-red': '#a0001c', blue: '#3274d9'};
  const PALETTE = ['#73bf69', '#f2cc0c', '#8ab8ff', '#b877d9', '#37872d', '#fade2a', '#3274d9', '#ffa6b0', '#a352cc',
    '#1f9e89', '#c0d8ff', '#96d98d'];
  const TEXT = {color: '#9a9aaa', fontSize: 10, fontFamily: 'DejaVu Sans, sans-serif'};
  const LINE = {lineStyle: {color: '#25272e'}};

  function element(kind, parent, {text, ...attributes} = {}) {
    const made = document.createElement(kind);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    if (text !== undefined) made.textContent = text;
    parent?.append(made);
    return made;
  }

  const legendOf = (legend, labels) => legend.replace(/{{(\w+)}}/g, (_, name) => labels[name] ?? '');
  const named = (panel) => panel.answers.flatMap(({legend, series, step}) =>
    series.map((one) => ({...one, step, name: legendOf(legend, one.labels) || panel.title})));
  const finite = (points) => points.filter(([, value]) => Number.isFinite(value));

  function colourFor(thresholds, value) {
    let colour = 'blue';
    for (const step of thresholds?.steps ?? []) if (step.value === null || value >= step.value) colour = step.color;
    return COLOURS[colour];
  }

  /** A value's mapping: its words and colour, where it has one. */
  function mapped(panel, value) {
    for (const mapping of panel.fieldConfig.defaults.mappings ?? []) {
      if (value in mapping.options) return mapping.options[value];
    }
    return undefined;
  }

  function drawStat(panel, box) {
    const {defaults} = panel.fieldConfig;
    const value = panel.answers[0].series[0]?.points.at(-1)[1];
    const shown = element('div', box, {class: 'stat'});
    if (value === undefined) {
      shown.textContent = 'No data';
      return;
    }
    const word = mapped(panel, String(value));
    shown.textContent = word?.text ?? words(value, defaults.unit, defaults.decimals);
    shown.style.background = word ? COLOURS[word.color] : colourFor(defaults.thresholds, value);
  }

  function chartIn(box, legend) {
    const place = element('div', box, {class: 'chart'});
    const shown = element('div', box, {class: 'legend'});
    for (const [name, colour] of legend) {
      const entry = element('span', shown);
      element('i', entry).style.background = colour;
      entry.append(name);
    }
    return echarts.init(place, null, {renderer: 'canvas'});
  }

  const time = (from, to) => ({type: 'time', min: from * 1000, max: to * 1000, axisLabel: {...TEXT, hideOverlap: true, showMaxLabel: false,
    formatter: '{HH}:{mm}:{ss}'}, axisLine: LINE, splitLine: {show: false}, splitNumber: 4});
  const GRID = {left: 8, right: 12, top: 10, bottom: 4, containLabel: true};

  /** Points with a hole where samples are missing. */
  function withHoles(points, step) {
    const holed = [];
    for (const [at, value] of finite(points)) {
      const last = holed.at(-1);
      if (last && at * 1000 - last[0] > 2500 * step) holed.push([last[0] + 1, null]);
      holed.push([at * 1000, value]);
    }
    return holed;
  }

  function drawTimeseries(panel, box, from, to) {
    const {unit, custom, min} = panel.fieldConfig.defaults;
    const stacked = custom.stacking.mode === 'normal';
    const found = named(panel).filter(({points}) => finite(points).length > 0);
    const fixed = new Map(panel.fieldConfig.overrides.map(({matcher, properties}) =>
      [matcher.options, properties.find(({id}) => id === 'color')?.value.fixedColor]));
    const colours = found.map(({name}, place) => COLOURS[fixed.get(name)] ?? PALETTE[place % PALETTE.length]);
    const chart = chartIn(box, panel.options.legend.showLegend ? found.map(({name}, place) => [name, colours[place]]) : []);
    // Stacked series must have the same times.
    const times = stacked ? [...new Set(found.flatMap(({points}) => points.map(([at]) => at)))].sort((a, b) => a - b) : [];
    const data = ({points, step}) => {
      if (!stacked) return withHoles(points, step);
      const values = new Map(finite(points));
      return times.map((at) => [at * 1000, values.get(at) ?? 0]);
    };
    const top = Math.max(...found.flatMap(({points}) => finite(points).map(([, value]) => value)), 0);
    chart.setOption({
      animation: false, grid: GRID, xAxis: time(from, to),
      yAxis: {type: 'value', min: min ?? undefined, max: top === 0 && min === 0 ? 1 : undefined, splitNumber: 4,
        scale: min === null, axisLabel: {...TEXT, formatter: (value) => words(value, unit)}, splitLine: LINE},
      series: found.map((one, place) => ({
        name: one.name, type: custom.drawStyle === 'bars' ? 'bar' : 'line', data: data(one), showSymbol: false,
        color: colours[place], stack: stacked ? 'all' : undefined, barWidth: 4, lineStyle: {width: 1.4},
        areaStyle: stacked ? {opacity: custom.fillOpacity / 100} : undefined,
      })),
    });
  }

  function drawHeatmap(panel, box, from, to) {
    const buckets = named(panel).map(({labels, points}) => ({le: Number(labels.le.replace('+Inf', 'Infinity')), points}))
      .sort((a, b) => a.le - b.le);
    const cells = [];
    const below = new Map(); // by time: what smaller buckets hold
    buckets.forEach(({points}, row) => {
      for (const [at, value] of finite(points)) {
        const more = value - (below.get(at) ?? 0);
        below.set(at, value);
        if (more > 1e-9) cells.push([at * 1000, row, more]);
      }
    });
    const chart = chartIn(box, []);
    const names = buckets.map(({le}) => Number.isFinite(le) ? words(le, 's') : 'more');
    const most = Math.max(...cells.map(([, , count]) => count), 1);
    const step = panel.answers[0].step * 1000;
    chart.setOption({
      animation: false, grid: GRID, xAxis: time(from, to),
      yAxis: {type: 'category', data: names, axisLabel: {...TEXT, interval: 1}, axisTick: {show: false}, axisLine: LINE},
      series: [{type: 'custom', data: cells, encode: {x: 0, y: 1}, clip: true, renderItem: (_, api) => {
        const [x, y] = api.coord([api.value(0), api.value(1)]);
        const [width, height] = api.size([step, 1]);
        return {type: 'rect', shape: {x: x - width, y: y - height / 2, width: Math.max(2, width), height: height - 1},
          style: {fill: `rgba(255, 152, 48, ${0.3 + 0.7 * Math.sqrt(api.value(2) / most)})`}};
      }}],
    });
  }

  /** Rows of a table, one an instant of a series: its labels, Time and Value, after `organize`. */
  function rowsOf(panel) {
    const {excludeByName = {}, renameByName = {}} =
      panel.transformations.find(({id}) => id === 'organize')?.options ?? {};
    return panel.answers[0].series.flatMap(({labels, points}) => points.map(([at, value]) =>
      Object.fromEntries(Object.entries({Time: at, ...labels, Value: value})
        .filter(([name]) => !excludeByName[name]).map(([name, one]) => [renameByName[name] ?? name, one]))));
  }

  const byNumber = (a, b) => String(a).localeCompare(String(b), 'en', {numeric: true});

  function drawStateTimeline(panel, box, from, to) {
    const by = panel.transformations.find(({id}) => id === 'partitionByValues').options.fields[0];
    const step = panel.answers[0].step;
    const rows = rowsOf(panel);
    const names = [...new Set(rows.map((row) => row[by]))].sort(byNumber).reverse();
    const leaders = [...new Set(rows.map((row) => row.Leader))].sort(byNumber);
    const plain = leaders.filter((leader) => !mapped(panel, leader));
    const colour = (leader) => COLOURS[mapped(panel, leader)?.color] ?? PALETTE[plain.indexOf(leader) % PALETTE.length];
    const bars = [];
    for (const name of names) {
      let last;
      for (const row of rows.filter((one) => one[by] === name).sort((a, b) => a.Time - b.Time)) {
        if (last && last.leader === row.Leader && row.Time - last.to <= 1.5 * step) {
          last.to = row.Time + step;
          continue;
        }
        if (last) last.to = Math.min(last.to, row.Time);
        last = {row: names.indexOf(name), leader: row.Leader, from: row.Time, to: row.Time + step};
        bars.push(last);
      }
    }
    const chart = chartIn(box, leaders.map((leader) => [leader, colour(leader)]));
    chart.setOption({
      animation: false, grid: GRID, xAxis: time(from, to),
      yAxis: {type: 'category', data: names.map((name) => `${by} ${name}`), axisTick: {show: false}, axisLine: LINE,
        axisLabel: {...TEXT, interval: 0}},
      series: [{type: 'custom', clip: true, encode: {x: [0, 1], y: 2},
        data: bars.map((bar) => [bar.from * 1000, Math.min(bar.to, to) * 1000, bar.row, bar.leader]),
        renderItem: (_, api) => {
          const bar = bars[_.dataIndex];
          const [left, y] = api.coord([api.value(0), api.value(2)]);
          const [right] = api.coord([api.value(1), api.value(2)]);
          const height = api.size([0, 1])[1] * 0.86;
          const width = right - left;
          return {type: 'rect', shape: {x: left, y: y - height / 2, width, height},
            style: {fill: colour(bar.leader), opacity: mapped(panel, bar.leader) ? 1 : 0.75},
            textContent: {style: {text: bar.leader, fill: mapped(panel, bar.leader) ? '#fff' : '#000', fontSize: 10,
              width: width - 6, overflow: 'truncate', ellipsis: ''}},
            textConfig: {position: 'insideLeft', distance: 4, inside: true}};
        }}],
    });
  }

  function drawTable(panel, box) {
    const rows = rowsOf(panel);
    if (rows.length === 0) {
      element('div', box, {class: 'nothing', text: 'None'});
      return;
    }
    const {indexByName = {}, renameByName = {}} = panel.transformations[0].options;
    const columns = Object.keys(indexByName).sort((a, b) => indexByName[a] - indexByName[b])
      .map((name) => renameByName[name] ?? name);
    const table = element('table', box);
    const head = element('tr', table);
    for (const name of columns) element('th', head, {text: name});
    const {displayName, desc} = panel.options.sortBy[0];
    for (const row of rows.sort((a, b) => byNumber(a[displayName], b[displayName]) * (desc ? -1 : 1))) {
      const line = element('tr', table);
      for (const name of columns) {
        const mapping = mapped(panel, row[name]);
        const cell = element('td', line, {text: row[name], class: mapping ? 'coloured' : ''});
        if (mapping) cell.style.background = COLOURS[mapping.color];
      }
    }
  }

  const DRAW = {stat: drawStat, timeseries: drawTimeseries, heatmap: drawHeatmap, 'state-timeline': drawStateTimeline,
    table: drawTable};

  window.draw = (dashboard, subtitle, from, to) => {
    const header = element('header', document.body);
    element('h1', header, {text: dashboard.title});
    element('span', header, {class: 'variables', text: subtitle});
    element('span', header, {class: 'preview', text: 'a preview, not Grafana'});
    const main = element('main', document.body);
    for (const panel of dashboard.panels) {
      const {x, y, w, h} = panel.gridPos;
      const box = element('section', main, {class: panel.type === 'row' ? 'row' : 'panel'});
      box.style.gridArea = `${y + 1} / ${x + 1} / span ${h} / span ${w}`;
      if (panel.type === 'row') {
        box.textContent = panel.title;
        continue;
      }
      element('h2', box, {text: panel.title});
      DRAW[panel.type](panel, box, from, to);
    }
  };
})();
