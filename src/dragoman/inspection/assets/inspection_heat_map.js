// The heat map: a row for each target word, a column for each source word, in the order in which each is read. At the
// right of a row is its entropy, below a column its coverage. The names of the rows are a picture of their own, which
// stays where it is when the map is scrolled; where there are many columns they are narrow.

const CELL = 24;
const SMALL_CELL = 18;
const MANY_COLUMNS = 30;
const GAP = 8;
const BARS = 44;
const FAINTEST = 0.005;

function mapSizes(one, rows) {
  const widest = innerWidth < 600 ? 84 : 130;
  const source = labelsOf(one, 'source').map(word => cut(word, 130));
  const target = labelsOf(one, 'target').slice(0, rows).map(word => cut(word, widest));
  const columns = source.length;
  const cell = columns > MANY_COLUMNS ? SMALL_CELL : CELL;
  const upright = Math.max(...source.slice(0, -1).map(widthOf), 0) <= cell;
  const rise = Math.max(...source.map(widthOf)) * 0.71 + 2 * GAP;
  const names = Math.ceil(Math.max(...target.map(widthOf), 20) + 2 * GAP);
  const top = rise + GAP;
  const isFlipped = one.sourceDirection === 'rtl';
  const x = column => (isFlipped ? columns - 1 - column : column) * cell;
  const y = row => top + row * cell;
  const width = Math.ceil(columns * cell + Math.max(BARS + GAP, rise));
  const height = Math.ceil(top + rows * cell + BARS + GAP);
  return { source, target, cell, upright, names, top, columns, rows, isFlipped, x, y, width, height };
}

function columnLabel(size, word, column, direction) {
  const x = size.x(column) + size.cell / 2;
  const y = size.top - GAP;
  const isFlat = size.upright && column < size.columns - 1;
  const turn = isFlat ? anchored('middle', direction)
    : { ...anchored('start', direction), transform: `rotate(-45 ${x} ${y})` };
  return draw('text', { class: 'source', 'data-side': 'source', 'data-word': column, x, y, ...turn }, word);
}

function rowName(size, word, row, direction) {
  return draw('text', {
    class: 'target', 'data-side': 'target', 'data-word': row, x: size.names - GAP, y: size.y(row) + 0.7 * size.cell,
    ...anchored('end', direction),
  }, word);
}

function mapRow(size, row, weights) {
  const y = size.y(row);
  const cells = [...weights].flatMap((weight, column) => (weight < FAINTEST ? [] : [draw('rect', {
    class: 'cell', x: size.x(column) + 1, y: y + 1, width: size.cell - 2, height: size.cell - 2, 'data-row': row,
    'data-column': column, 'fill-opacity': weight.toFixed(3),
  })]));
  const bits = entropyOf(weights);
  const bar = draw('rect', {
    class: 'entropy', x: size.columns * size.cell + GAP, y: y + size.cell / 4, height: size.cell / 2,
    width: ((BARS - 4) * bits / (Math.log2(size.columns) || 1)).toFixed(1),
  }, draw('title', {}, `entropy ${decimal(bits)} bits`));
  return [...cells, bar];
}

function coverageBar(one, size, weights, column) {
  const looked = coverageOf(one, weights, column);
  return draw('rect', {
    class: 'coverage', x: size.x(column) + size.cell / 4, y: size.y(size.rows) + GAP, width: size.cell / 2,
    height: ((BARS - 4) * Math.min(1, looked / 2)).toFixed(1),
  }, draw('title', {}, `coverage ${decimal(looked)}`));
}

function heatMap(one) {
  const weights = shownWeights();
  const size = mapSizes(one, weights.length);
  const [wide, high] = [size.columns * size.cell, size.rows * size.cell];
  const sized = width => ({ width, height: size.height, viewBox: `0 0 ${width} ${size.height}` });
  const names = draw('svg', { class: 'map names', 'aria-hidden': 'true', ...sized(size.names) },
    ...size.target.map((word, row) => rowName(size, word, row, one.targetDirection)));
  const svg = draw('svg', { class: 'map', role: 'img', 'aria-label': `Heat map, ${mapName()}`, ...sized(size.width) },
    draw('rect', { class: 'ground', x: 0, y: size.top, width: wide, height: high }),
    ...size.source.map((word, column) => columnLabel(size, word, column, one.sourceDirection)),
    ...weights.flatMap((row, number) => mapRow(size, number, row)),
    ...size.source.map((_, column) => coverageBar(one, size, weights, column)),
    draw('rect', { class: 'band row', x: 1, y: size.top, width: wide - 2, height: size.cell }),
    draw('rect', { class: 'band column', x: 0, y: size.top, width: size.cell, height: high }));
  return { names, svg, size };
}

function moveBands({ names, svg, size }, row, column) {
  const [rowBand, columnBand] = svg.querySelectorAll('.band');
  rowBand.style.display = row >= 0 && row < size.rows ? 'inline' : 'none';
  columnBand.style.display = column >= 0 ? 'inline' : 'none';
  if (row >= 0) rowBand.setAttribute('y', size.y(row));
  if (column >= 0) columnBand.setAttribute('x', size.x(column));
  for (const label of [...names.querySelectorAll('text'), ...svg.querySelectorAll('text')]) {
    const number = Number(label.dataset.word);
    label.classList.toggle('lit', number === (label.dataset.side === 'target' ? row : column));
  }
}

// Row and column under the pointer; cells take no events, since those that are too faint to be seen are not drawn.
function cellAt({ svg, size }, event) {
  const { left, top } = svg.getBoundingClientRect();
  const place = Math.floor((event.clientX - left) / size.cell);
  const row = Math.floor((event.clientY - top - size.top) / size.cell);
  const inside = (number, count) => Math.max(0, Math.min(count - 1, number));
  const column = size.isFlipped ? size.columns - 1 - place : place;
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
    box.replaceChildren(make('div', { class: 'grid' }, drawn.names, drawn.svg));
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
