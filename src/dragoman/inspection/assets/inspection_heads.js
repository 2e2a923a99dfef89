// Which map is shown: layer, head and reading, by lists to choose from and by small pictures of every head.

const MEAN = -1;

function drawThumbnail(canvas, one, layer, head) {
  const weights = weightsOf(one, layer, head, view.reading);
  const columns = columnsOf(one);
  canvas.width = columns;
  canvas.height = Math.max(1, weights.length);
  const colour = getComputedStyle(document.documentElement).getPropertyValue('--heat').trim();
  const [red, green, blue] = [1, 3, 5].map(at => parseInt(colour.slice(at, at + 2), 16));
  const context = canvas.getContext('2d');
  const image = context.createImageData(canvas.width, canvas.height);
  weights.forEach((row, y) => row.forEach((weight, column) => {
    const x = one.sourceDirection === 'rtl' ? columns - 1 - column : column;
    image.data.set([red, green, blue, Math.round(255 * weight)], 4 * (y * columns + x));
  }));
  context.putImageData(image, 0, 0);
}

function thumbnail(one, layer, head) {
  const of = (number, word) => (number < 0 ? `mean of ${word}s` : `${word} ${number + 1}`);
  const name = `${of(layer, 'layer')}, ${of(head, 'head')}`;
  const canvas = make('canvas', { 'aria-hidden': 'true' });
  const button = make('button', { type: 'button', class: 'thumbnail', 'aria-label': name, title: name }, canvas);
  button.addEventListener('click', () => chooseMap({ layer, head }));
  return { button, canvas, layer, head };
}

// Rows are layers, the lowest first, columns heads; the last of each is the mean.
function thumbnails(one) {
  const layers = [...Array(one.layers).keys(), ...(one.layers > 1 ? [MEAN] : [])];
  const heads = [...Array(one.heads).keys(), ...(one.heads > 1 ? [MEAN] : [])];
  const head = number => make('th', { scope: 'col' }, number < 0 ? 'mean' : `head ${number + 1}`);
  const all = layers.map(layer => heads.map(number => thumbnail(one, layer, number)));
  const rows = all.map((row, number) => make('tr', {},
    make('th', { scope: 'row' }, layers[number] < 0 ? 'mean' : `layer ${layers[number] + 1}`),
    ...row.map(each => make('td', {}, each.button))));
  const table = make('table', { class: 'heads' }, make('caption', {}, 'Every head: choose one'),
    make('thead', {}, make('tr', {}, make('td'), ...heads.map(head))), make('tbody', {}, ...rows));
  const flat = all.flat();
  const mark = () => {
    for (const each of flat) {
      each.button.setAttribute('aria-pressed', each.layer === view.layer && each.head === view.head);
    }
  };
  const paint = () => { for (const each of flat) drawThumbnail(each.canvas, one, each.layer, each.head); };
  let painted = '';
  view.parts.push({ paint, draw: () => {
    if (painted !== view.reading) paint();
    painted = view.reading;
    mark();
  } });
  return make('div', { class: 'scroll' }, table);
}

function chooseMap(choice) {
  Object.assign(view, choice);
  tell('draw');
  tell('light');
  tell('step');
}

function chooser(name, key, options) {
  const select = make('select', { name: key }, ...options.map(([value, text]) => make('option', { value }, text)));
  select.addEventListener('change', () => {
    chooseMap({ [key]: key === 'reading' ? select.value : Number(select.value) });
  });
  view.parts.push({ draw: () => { select.value = String(view[key]); } });
  return make('label', { class: 'chooser' }, `${name} `, select);
}

function choosers(one) {
  const numbered = (count, word) => [...Array(count).keys()].map(number => [number, `${word} ${number + 1}`]);
  const row = make('div', { class: 'choosers' });
  const choices = (count, word) => [...numbered(count, word), [MEAN, `mean of ${word}s`]];
  if (one.layers > 1) row.append(chooser('Layer', 'layer', choices(one.layers, 'layer')));
  if (one.heads > 1) row.append(chooser('Head', 'head', choices(one.heads, 'head')));
  row.append(chooser('A step is the look of', 'reading', [
    ['predicted', 'the word it writes'], ['given', 'the word it was given'],
  ]));
  return row;
}

function attentionCard(one) {
  const says = make('p', { class: 'says of-cell', 'aria-hidden': 'true' });
  const maps = make('div', { class: 'maps' }, heatMapPart(one, says), linksPart(one));
  const card = make('section', { class: 'card', 'aria-labelledby': 'attention' },
    make('h2', { id: 'attention' }, 'What it looks at'), choosers(one), says, maps);
  if (one.layers * one.heads > 1) maps.append(thumbnails(one));
  return card;
}
