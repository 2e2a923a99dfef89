// Draw the figures of the page from its data, and draw them again when a control moves.
(() => {
  const data = JSON.parse(document.getElementById('data').textContent);
  const { models, gold, texts } = data;
  const control = name => document.getElementById(name);
  const part = (kind, name) => document.querySelector(`[data-${kind}="${name}"]`);
  const widthOf = name => Math.max(260, part('chart', name).clientWidth);
  const fill = (text, values) => text.replace(/\{(\w+)\}/g, (_, name) => values[name]);
  const mean = values => values.reduce((sum, value) => sum + value, 0) / values.length;

  function svg(name, attributes = {}, ...children) {
    const element = document.createElementNS('http://www.w3.org/2000/svg', name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...children);
    return element;
  }

  // ---- The chosen statistic: its place among the values of a group, its format and the end of its axis.
  function statistic() {
    const kind = control('statistic').value;
    const k = data.top[Number(control('k').value)];
    const place = kind === 'top' ? 2 + data.top.indexOf(k) : data.values.indexOf(kind);
    const isShare = kind !== 'effective';
    const name = kind === 'top' ? fill(k === 1 ? texts.massOfOne : texts.massOf, { k }) : texts.names[kind];
    return { kind, k, place, name, isShare, format: isShare ? share : value => value.toFixed(1) };
  }
  const share = value => `${(100 * value).toFixed(1)}\u00a0%`;
  const model = () => models[control('model').value];
  const modelName = () => texts.models[control('model').value];

  function ticks(most) {
    const step = [0.1, 0.2, 0.25, 0.5, 1, 2, 5, 10, 20].find(each => most / each <= 5) ?? most / 5;
    return Array.from({ length: Math.floor(most / step + 1e-9) + 1 }, (_, place) => place * step);
  }
  const axisFormat = isShare => value => (isShare ? `${Math.round(100 * value)}\u00a0%` : String(Math.round(10 * value) / 10));
  function axisEnd(values, isShare) {
    const most = Math.max(...values.filter(value => value != null));
    return isShare ? Math.min(1, Math.max(0.1, Math.ceil(10 * most) / 10)) : Math.max(1, Math.ceil(most * 1.05));
  }

  // ---- Marks: a full circle, a hollow circle, a bar, a diamond; the shape differs as well as the colour.
  function mark(shape, colour, x, y, title) {
    const kinds = {
      full: () => svg('circle', { cx: x, cy: y, r: 5 }),
      hollow: () => svg('circle', { cx: x, cy: y, r: 5 }),
      bar: () => svg('line', { x1: x, x2: x, y1: y - 8, y2: y + 8 }),
      diamond: () => svg('path', { d: `M${x} ${y - 6}l6 6l-6 6l-6-6z` }),
    };
    const element = kinds[shape]();
    element.setAttribute('class', `mark ${shape} k${colour}`);
    if (title) element.append(svg('title', {}, title));
    return element;
  }
  const STATES = { trained: ['full', 0], untrained: ['hollow', 1], uniform: ['bar', 7] };
  const CONTROLS = { attention: ['full', 0], shuffled: ['hollow', 1], 'other word': ['diamond', 3], uniform: ['bar', 7] };

  function legend(name, entries) {
    part('legend', name).replaceChildren(
      ...entries.map(([text, shape, colour]) => {
        const span = document.createElement('span');
        const drawing = svg('svg', { width: 18, height: 16, 'aria-hidden': 'true' });
        drawing.append(shape === 'line' ? swatch(colour) : mark(shape, colour, 9, 8));
        span.append(drawing, text);
        return span;
      }),
    );
  }
  const swatch = colour => svg('line', { class: `mark bar k${colour}`, x1: 0, x2: 18, y1: 8, y2: 8 });
  const legendOf = kinds => Object.entries(kinds).map(([name, kind]) => [texts.states[name] ?? texts.gold[name], ...kind]);

  const states = () => legendOf(STATES).filter(([name]) => name !== texts.states.untrained || model().all.untrained);

  function show(name, drawing, readout) {
    drawing.setAttribute('role', 'img');
    drawing.setAttribute('aria-label', readout);
    part('chart', name).replaceChildren(drawing);
    part('readout', name).textContent = readout;
  }

  // ---- Rows with one mark per kind on a common axis: models, word classes, gold links.
  function rowsChart(name, rows, kinds, { format, isShare, end }, chosen) {
    const width = widthOf(name);
    const left = Math.min(190, Math.round(0.38 * width));
    const right = 24;
    const height = rows.length * 30 + 30;
    const most = end ?? axisEnd(rows.flatMap(row => Object.values(row.marks).flat()), isShare);
    const x = value => left + (value / most) * (width - left - right);
    const drawing = svg('svg', { width, height, viewBox: `0 0 ${width} ${height}` });
    for (const tick of ticks(most)) {
      drawing.append(svg('line', { class: 'axis', x1: x(tick), x2: x(tick), y1: 0, y2: height - 22 }));
      drawing.append(svg('text', { x: x(tick), y: height - 6, 'text-anchor': 'middle' }, axisFormat(isShare)(tick)));
    }
    rows.forEach((row, place) => {
      const y = 15 + place * 30;
      const kind = row.id === chosen ? 'name chosen' : 'name';
      drawing.append(svg('text', { class: kind, x: 0, y: y + 4 }, row.name));
      for (const [state, [shape, colour]] of Object.entries(kinds).reverse()) {
        const values = [row.marks[state] ?? []].flat();
        if (!values.length) continue;
        const [low, high] = [Math.min(...values), Math.max(...values)];
        if (high > low) {
          const ends = { x1: x(low), x2: x(high), y1: y, y2: y };
          drawing.append(svg('line', { class: `mark range k${colour}`, ...ends }));
        }
        const label = `${row.name}, ${texts.states[state] ?? texts.gold[state]}: ${format(mean(values))}`;
        drawing.append(mark(shape, colour, x(mean(values)), y, label));
      }
    });
    return drawing;
  }

  // ---- Lines over an axis of numbers or of names.
  function linesChart(name, places, lines, { isShare, format, cursor, label, most }) {
    const width = widthOf(name);
    const [height, left, right, bottom] = [260, 46, 16, 40];
    const ends = most ?? axisEnd(lines.flatMap(line => line.points.map(point => point[1])), isShare);
    const xs = places.map(place => place[0]);
    const [first, last] = [Math.min(...xs), Math.max(...xs)];
    const x = value => left + 12 + ((value - first) / (last - first || 1)) * (width - left - right - 24);
    const y = value => height - bottom - (value / ends) * (height - bottom - 10);
    const drawing = svg('svg', { width, height, viewBox: `0 0 ${width} ${height}` });
    for (const tick of ticks(ends)) {
      drawing.append(svg('line', { class: 'axis', x1: left, x2: width - right, y1: y(tick), y2: y(tick) }));
      drawing.append(svg('text', { x: left - 6, y: y(tick) + 4, 'text-anchor': 'end' }, axisFormat(isShare)(tick)));
    }
    for (const [place, text] of places) {
      drawing.append(svg('text', { x: x(place), y: height - bottom + 16, 'text-anchor': 'middle' }, text));
    }
    drawing.append(svg('text', { x: (left + width - right) / 2, y: height - 6, 'text-anchor': 'middle' }, label));
    if (cursor != null) {
      drawing.append(svg('line', { class: 'cursor', x1: x(cursor), x2: x(cursor), y1: 10, y2: height - bottom }));
    }
    for (const line of lines) {
      const points = line.points.map(point => `${x(point[0])},${y(point[1])}`).join(' ');
      const dashes = line.dashes ? { 'stroke-dasharray': line.dashes } : {};
      const kind = `mark k${line.colour}${line.isChosen ? ' chosen' : ''}`;
      drawing.append(svg('polyline', { class: kind, points, ...dashes }));
      for (const point of line.isPlain ? [] : line.points) {
        const title = `${line.name}: ${format(point[1])}`;
        drawing.append(mark(line.shape ?? 'full', line.colour, x(point[0]), y(point[1]), title));
      }
    }
    return drawing;
  }

  // ---- The figures.
  function drawModels() {
    const chosen = statistic();
    const rows = Object.entries(models).map(([id, each]) => ({
      id,
      name: texts.models[id],
      marks: {
        trained: each.all.trained.map(values => values[chosen.place]),
        untrained: (each.all.untrained ?? []).map(values => values[chosen.place]),
        uniform: [each.uniform[chosen.place]],
      },
    }));
    legend('models', legendOf(STATES));
    const { trained, untrained, uniform } = rows.find(row => row.id === control('model').value).marks;
    const known = { model: modelName(), statistic: chosen.name, trained: chosen.format(mean(trained)) };
    const before = untrained.length ? fill(texts.readUntrained, { value: chosen.format(mean(untrained)) }) : '';
    const readout = fill(texts.readModel, { ...known, before, uniform: chosen.format(uniform[0]) });
    show('models', rowsChart('models', rows, STATES, chosen, control('model').value), readout);
  }

  function drawLengths() {
    const chosen = statistic();
    const groups = Object.entries(model().lengths);
    const names = groups.map(([name]) => name);
    const places = names.map((name, place) => {
      const least = Number(names[place - 1]);
      return [place, name === 'more' ? `> ${least}` : place ? `${least + 1}–${name}` : `≤ ${name}`];
    });
    const lines = Object.entries(STATES)
      .filter(([state]) => groups[0][1][state])
      .map(([state, [shape, colour]]) => ({
        name: texts.states[state],
        shape,
        colour,
        isChosen: state === 'trained',
        dashes: state === 'uniform' ? '5 4' : '',
        points: groups.map(([, values], place) => [place, values[state][chosen.place]]),
      }));
    legend('lengths', states());
    const [low, high] = [groups[0][1], groups[groups.length - 1][1]].map(each => chosen.format(each.trained[chosen.place]));
    const readout = fill(texts.readLengths, { model: modelName(), statistic: chosen.name, low, high });
    show('lengths', linesChart('lengths', places, lines, { ...chosen, label: texts.sourceTokens }), readout);
  }

  function drawHeads() {
    const chosen = statistic();
    const { heads, seeds } = model();
    const picker = control('seed');
    if (picker.dataset.model !== control('model').value) {
      picker.replaceChildren(...seeds.map((seed, place) => new Option(String(seed), String(place))));
      picker.dataset.model = control('model').value;
    }
    picker.disabled = seeds.length < 2;
    control('state').disabled = !heads.untrained;
    const state = heads.untrained ? control('state').value : 'trained';
    const layers = heads[state][Number(picker.value)];
    const values = layers.map(layer => layer.map(head => head[chosen.place]));
    const most = chosen.isShare ? 1 : Math.max(...values.flat(), 1);
    const width = widthOf('heads');
    const left = 70;
    const cell = Math.min(96, (width - left) / values[0].length);
    const height = 30 + values.length * 42;
    const drawing = svg('svg', { width, height, viewBox: `0 0 ${width} ${height}` });
    values[0].forEach((_, head) => {
      const x = left + (head + 0.5) * cell;
      drawing.append(svg('text', { x, y: 16, 'text-anchor': 'middle' }, `${texts.head} ${head + 1}`.slice(cell < 50 ? -1 : 0)));
    });
    values.forEach((row, layer) => {
      const y = 26 + layer * 42;
      drawing.append(svg('text', { class: 'name', x: 0, y: y + 23 }, `${texts.layer} ${layer + 1}`));
      row.forEach((value, head) => {
        const place = { x: left + head * cell + 1, y, width: cell - 2, height: 36 };
        const title = `${texts.layer} ${layer + 1}, ${texts.head} ${head + 1}: ${chosen.format(value)}`;
        drawing.append(svg('rect', { class: 'frame', ...place }));
        drawing.append(svg('rect', { class: 'cell', ...place, 'fill-opacity': 0.45 * (value / most) }, svg('title', {}, title)));
        const text = chosen.isShare && cell < 60 ? String(Math.round(100 * value)) : chosen.format(value);
        drawing.append(svg('text', { class: 'value', x: place.x + cell / 2, y: y + 22, 'text-anchor': 'middle' }, text));
      });
    });
    const flat = values.flat();
    const [low, high] = [Math.min(...flat), Math.max(...flat)].map(chosen.format);
    legend('heads', []);
    const text = flat.length > 1 ? texts.readHeads : texts.readHead;
    show('heads', drawing, fill(text, { model: modelName(), statistic: chosen.name, low, high, state: texts.states[state] }));
  }

  function drawTraining() {
    const chosen = statistic();
    const trained = Object.entries(models).filter(([, each]) => each.training);
    const slider = control('update');
    const own = model().training;
    slider.disabled = !own;
    const updates = own?.updates ?? [];
    if (slider.dataset.model !== control('model').value) {
      slider.max = String(Math.max(updates.length - 1, 0));
      slider.value = slider.max;
      slider.dataset.model = control('model').value;
    }
    const place = Number(slider.value);
    control('update-value').textContent = own ? updates[place].toLocaleString('en') : '–';
    const colours = Object.keys(models);
    const lines = trained.map(([id, each]) => ({
      name: texts.models[id],
      colour: colours.indexOf(id),
      isChosen: id === control('model').value,
      isPlain: id !== control('model').value,
      points: each.training.updates.map((update, index) => [update, each.training.values[index][chosen.place]]),
    }));
    if (own) {
      const level = own.uniform[chosen.place];
      const ends = [updates[0], updates[updates.length - 1]];
      lines.push({ name: texts.states.uniform, colour: 7, dashes: '5 4', isPlain: true, points: ends.map(end => [end, level]) });
    }
    const last = Math.max(...trained.flatMap(([, each]) => each.training.updates));
    const places = Array.from({ length: Math.floor(last / 1000) + 1 }, (_, index) => [1000 * index, (1000 * index).toLocaleString('en')]);
    legend('training', [...trained.map(([id]) => [texts.models[id], 'line', colours.indexOf(id)]), ...(own ? [[texts.states.uniform, 'line', 7]] : [])]);
    const options = { ...chosen, cursor: own ? updates[place] : null, label: texts.updates };
    const most = axisEnd(lines.flatMap(line => line.points.map(point => point[1])), chosen.isShare);
    const readout = own
      ? fill(texts.readTraining, {
          model: modelName(),
          statistic: chosen.name,
          update: updates[place].toLocaleString('en'),
          value: chosen.format(own.values[place][chosen.place]),
          uniform: chosen.format(own.uniform[chosen.place]),
          loss: own.loss[place].toFixed(2),
          seeds: own.seeds.length,
        })
      : fill(texts.readNoTraining, { model: modelName() });
    show('training', linesChart('training', [...places, ...(last % 1000 ? [[last, '']] : [])], lines, { ...options, most }), readout);
  }

  function drawClasses() {
    const chosen = statistic();
    const { classes, received } = model();
    const rows = Object.entries(classes).map(([id, each]) => ({
      id,
      name: texts.classes[id],
      marks: Object.fromEntries(Object.keys(STATES).map(state => [state, each[state] ? [each[state][chosen.place]] : []])),
    }));
    legend('classes', states());
    const sorted = [...rows].sort((one, other) => one.marks.trained[0] - other.marks.trained[0]);
    const [low, high] = [sorted[0], sorted[sorted.length - 1]];
    const known = { low: low.name, lowValue: chosen.format(low.marks.trained[0]), high: high.name };
    const values = { ...known, highValue: chosen.format(high.marks.trained[0]), model: modelName(), statistic: chosen.name };
    show('classes', rowsChart('classes', rows, STATES, chosen), fill(texts.readClasses, values));

    const shares = Object.entries(received).map(([id, each]) => ({
      id,
      name: texts.classes[id],
      marks: { trained: [each.trained[0]], untrained: each.untrained ? [each.untrained[0]] : [], uniform: [each.trained[1]] },
    }));
    legend('received', states());
    const ratios = shares.map(row => ({ name: row.name, ratio: row.marks.trained[0] / row.marks.uniform[0] }));
    ratios.sort((one, other) => other.ratio - one.ratio);
    const ends = { model: modelName(), high: ratios[0].name, highValue: ratios[0].ratio.toFixed(1) };
    const lowest = ratios[ratios.length - 1];
    const text = fill(texts.readReceived, { ...ends, low: lowest.name, lowValue: lowest.ratio.toFixed(1) });
    show('received', rowsChart('received', shares, STATES, { format: share, isShare: true }), text);
  }

  function drawInterventions() {
    const { k } = statistic();
    const { searches, searched } = model();
    const all = mean(searches['beam-1']);
    const kept = [...data.top.map(count => mean(searches[`keep-${count}`])), all];
    const places = [...data.top.map((count, place) => [place, String(count)]), [data.top.length, texts.allWeights]];
    const level = (name, colour, dashes) => ({
      name: texts.searches[name],
      colour,
      dashes,
      isPlain: true,
      points: [0, data.top.length].map(place => [place, mean(searches[name])]),
    });
    const lines = [
      { name: texts.searches.keep, colour: 0, isChosen: true, points: kept.map((value, place) => [place, value]) },
      level('drop-1', 6, '7 3'),
      level('uniform', 7, '5 4'),
      level('shuffled', 1, '2 3'),
    ];
    legend('interventions', lines.map(line => [line.name, 'line', line.colour]));
    const place = data.top.indexOf(k);
    const bleu = value => value.toFixed(1);
    const most = Math.ceil(all / 10 + 0.2) * 10;
    const options = { isShare: false, format: bleu, cursor: place, label: texts.keptWeights, most };
    const change = kept[place] - all;
    const readout = fill(k === 1 ? texts.readInterventionOne : texts.readIntervention, {
      model: modelName(),
      k,
      kept: bleu(kept[place]),
      all: bleu(all),
      change: `${Math.abs(change) < 0.05 ? '±' : change < 0 ? '−' : '+'}${Math.abs(change).toFixed(1)}`,
      drop: bleu(mean(searches['drop-1'])),
      uniform: bleu(mean(searches.uniform)),
      shuffled: bleu(mean(searches.shuffled)),
      sentences: searched.toLocaleString('en'),
      seeds: searches['beam-1'].length,
    });
    show('interventions', linesChart('interventions', places, lines, options), readout);
  }

  function drawGold() {
    const place = Number(control('gold-update').value);
    const value = Number(control('gold-value').value);
    const point = gold.points[place];
    control('gold-update-value').textContent = gold.updates[place].toLocaleString('en');
    const rows = ['all', '1', '2'].map(group => ({
      id: group,
      name: `${texts.links[group]} (${point.attention[group][0].toLocaleString('en')})`,
      marks: Object.fromEntries(Object.keys(CONTROLS).map(name => [name, [point[name][group][value]]])),
    }));
    legend('gold', legendOf(CONTROLS));
    const of = name => share(point[name].all[value]);
    const readout = fill(value === 1 ? texts.readGoldMass : texts.readGoldLargest, {
      update: gold.updates[place].toLocaleString('en'),
      attention: of('attention'),
      uniform: of('uniform'),
      shuffled: of('shuffled'),
      other: of('other word'),
    });
    const every = gold.points.flatMap(each => Object.values(each).flatMap(groups => rows.map(row => groups[row.id][value])));
    show('gold', rowsChart('gold', rows, CONTROLS, { format: share, isShare: true, end: axisEnd(every, true) }), readout);
  }

  function draw() {
    const { kind, k } = statistic();
    control('k-value').textContent = String(k);
    control('k').setAttribute('aria-valuetext', String(k));
    drawModels();
    drawLengths();
    drawHeads();
    drawTraining();
    drawClasses();
    drawInterventions();
    if (gold) drawGold();
    document.body.dataset.statistic = kind;
  }
  document.querySelector('.controls').addEventListener('submit', event => event.preventDefault());
  document.addEventListener('input', draw);
  addEventListener('resize', draw);
  draw();
})();
