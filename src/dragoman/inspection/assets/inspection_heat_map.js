// The heat map: a row for each target word, a column for each source word, in the order in which each is read. At the
// right of a row is its entropy, below a column its coverage.

const CELL = 24;
const GAP = 8;
const BARS = 44;
const FAINTEST = 0.005;

function mapSizes(one, rows) {
  const source = labelsOf(one, 'source').map(word => cut(word, 130));
  const target = labelsOf(one, 'target').slice(0, rows).map(word => cut(word, 130));
  const upright = Math.max(...source.slice(0, -1).map(widthOf), 0) <= CELL;
  const rise = Math.max(...source.map(widthOf)) * 0.71 + 2 * GAP;
  const left = Math.max(...target.map(widthOf), 20) + 2 * GAP;
  const columns = source.length;
  const top = rise + GAP;
  const flip = one.sourceDirection === 'rtl';
  const x = column => left + (flip ? columns - 1 - column : column) * CELL;
  const y = row => top + row * CELL;
  const width = left + columns * CELL + Math.max(BARS + GAP, rise);
  return { source, target, upright, left, top, columns, rows, x, y, width, height: top + rows * CELL + BARS + GAP };
}

function columnLabel(size, word, column, direction) {
  const x = size.x(column) + CELL / 2;
  const y = size.top - GAP;
  const isFlat = size.upright && column < size.columns - 1;
  const turn = isFlat ? anchored('middle', direction)
    : { ...anchored('start', direction), transform: `rotate(-45 ${x} ${y})` };
  return draw('text', { class: 'source', 'data-side': 'source', 'data-word': column, x, y, ...turn }, word);
}

function mapRow(size, row, weights, direction) {
  const y = size.y(row);
  const label = draw('text', {
    class: 'target', 'data-side': 'target', 'data-word': row, x: size.left - GAP, y: y + 0.7 * CELL,
    ...anchored('end', direction),
  }, size.target[row]);
  const cells = [...weights].flatMap((weight, column) => (weight < FAINTEST ? [] : [draw('rect', {
    class: 'cell', x: size.x(column) + 1, y: y + 1, width: CELL - 2, height: CELL - 2, 'data-row': row,
    'data-column': column, 'fill-opacity': weight.toFixed(3),
  })]));
  const bits = entropyOf(weights);
  const bar = draw('rect', {
    class: 'entropy', x: size.left + size.columns * CELL + GAP, y: y + 6, height: CELL - 12,
    width: ((BARS - 4) * bits / (Math.log2(size.columns) || 1)).toFixed(1),
  }, draw('title', {}, `entropy ${decimal(bits)} bits`));
  return [label, ...cells, bar];
}

function coverageBar(size, weights, column) {
  const looked = coverageOf(weights, column);
  return draw('rect', {
    class: 'coverage', x: size.x(column) + 6, y: size.y(size.rows) + GAP, width: CELL - 12,
    height: ((BARS - 4) * Math.min(1, looked / 2)).toFixed(1),
  }, draw('title', {}, `coverage ${decimal(looked)}`));
}

function heatMap(one) {
  const weights = shownWeights();
  const size = mapSizes(one, weights.length);
  const [wide, high] = [size.columns * CELL, size.rows * CELL];
  const svg = draw('svg', {
    class: 'map', role: 'img', viewBox: `0 0 ${Math.ceil(size.width)} ${Math.ceil(size.height)}`,
    width: Math.ceil(size.width), height: Math.ceil(size.height), 'aria-label': `Heat map, ${mapName()}`,
  }, draw('rect', { class: 'ground', x: size.left, y: size.top, width: wide, height: high }),
  draw('rect', { class: 'band row', x: size.left, y: size.top, width: wide, height: CELL }),
  draw('rect', { class: 'band column', x: size.left, y: size.top, width: CELL, height: high }),
  ...size.source.map((word, column) => columnLabel(size, word, column, one.sourceDirection)),
  ...weights.flatMap((row, number) => mapRow(size, number, row, one.targetDirection)),
  ...size.source.map((_, column) => coverageBar(size, weights, column)));
  return { svg, size };
}

function moveBands({ svg, size }, row, column) {
  const [rowBand, columnBand] = svg.querySelectorAll('.band');
  rowBand.style.display = row >= 0 && row < size.rows ? 'inline' : 'none';
  columnBand.style.display = column >= 0 ? 'inline' : 'none';
  if (row >= 0) rowBand.setAttribute('y', size.y(row));
  if (column >= 0) columnBand.setAttribute('x', size.x(column));
  for (const label of svg.querySelectorAll('text')) {
    const number = Number(label.dataset.word);
    label.classList.toggle('lit', number === (label.dataset.side === 'target' ? row : column));
  }
}

// Row and column under the pointer; cells take no events, since those that are too faint to be seen are not drawn.
function cellAt({ svg, size }, event) {
  const { left, top } = svg.getBoundingClientRect();
  const place = Math.floor((event.clientX - left - size.left) / CELL);
  const row = Math.floor((event.clientY - top - size.top) / CELL);
  const inside = (number, count) => Math.max(0, Math.min(count - 1, number));
  const column = size.x(0) > size.left ? size.columns - 1 - place : place;
  return [inside(row, size.rows), inside(column, size.columns)];
}

function heatMapPart(one, cellSays) {
  const box = make('div', { class: 'scroll', tabindex: 0, role: 'group', 'aria-label': 'Heat map' });
  let drawn = null;
  const light = () => {
    const chosen = lit();
    moveBands(drawn, chosen?.side === 'target' ? chosen.word : -1, chosen?.side === 'source' ? chosen.word : -1);
  };
  view.parts.push({ light, draw: () => {
    drawn = heatMap(one);
    box.replaceChildren(drawn.svg);
  } });
  const point = event => {
    if (!event.target.classList.contains('ground')) return;
    const [row, column] = cellAt(drawn, event);
    view.hovered = { side: 'target', word: row };
    tell('light');
    moveBands(drawn, row, column);
    const weight = shownWeights()[row][column];
    const words = [apart(labelsOf(one, 'target')[row]), apart(labelsOf(one, 'source')[column])];
    cellSays.replaceChildren(words[0], ' looks at ', words[1], `: ${percent(weight)}`);
  };
  box.addEventListener('pointermove', point);
  box.addEventListener('pointerdown', point);
  box.addEventListener('pointerleave', () => {
    cellSays.replaceChildren();
    view.hovered = null;
    tell('light');
  });
  return box;
}
