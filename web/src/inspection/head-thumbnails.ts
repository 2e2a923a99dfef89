// A table with a small image of each head: rows are layers, lowest first; the last row and column are means.
import { html } from '../attention-map/dom';
import { MEAN, attentionMap } from './attention-weights';
import type { InspectionState } from './state';

interface Thumbnail {
  button: HTMLButtonElement;
  canvas: HTMLCanvasElement;
  layer: number;
  head: number;
}

export function headThumbnails(state: InspectionState): HTMLElement {
  const { layers, heads } = state.translation;
  const withMean = (count: number) => [...Array(count).keys(), ...(count > 1 ? [MEAN] : [])];
  const shortName = (index: number, word: string) => (index === MEAN ? 'mean' : `${word} ${index + 1}`);
  const rows = withMean(layers).map(layer => withMean(heads).map(head => thumbnail(state, layer, head)));
  const tableRows = rows.map((row, place) =>
    html(
      'tr',
      {},
      html('th', { scope: 'row' }, shortName(withMean(layers)[place] ?? MEAN, 'layer')),
      ...row.map(({ button }) => html('td', {}, button)),
    ),
  );
  const header = withMean(heads).map(head => html('th', { scope: 'col' }, shortName(head, 'head')));
  const table = html(
    'table',
    { class: 'heads' },
    html('caption', {}, 'All heads: select one'),
    html('thead', {}, html('tr', {}, html('td'), ...header)),
    html('tbody', {}, ...tableRows),
  );
  subscribe(state, rows.flat());
  return html('div', { class: 'scroll' }, table);
}

function subscribe(state: InspectionState, thumbnails: Thumbnail[]): void {
  let painted = '';
  const paint = () => {
    for (const each of thumbnails) paintThumbnail(state, each);
  };
  state.subscribe({
    theme: paint,
    map: () => {
      if (painted !== state.reading) paint();
      painted = state.reading;
      for (const { button, layer, head } of thumbnails) {
        button.setAttribute('aria-pressed', String(layer === state.layer && head === state.head));
      }
    },
  });
}

function thumbnail(state: InspectionState, layer: number, head: number): Thumbnail {
  const part = (index: number, word: string) => (index === MEAN ? `mean of ${word}s` : `${word} ${index + 1}`);
  const name = `${part(layer, 'layer')}, ${part(head, 'head')}`;
  const canvas = html('canvas', { 'aria-hidden': 'true' });
  const button = html('button', { type: 'button', class: 'thumbnail', 'aria-label': name, title: name }, canvas);
  button.addEventListener('click', () => state.selectMap({ layer, head }));
  return { button, canvas, layer, head };
}

/** One pixel per weight. */
function paintThumbnail(state: InspectionState, { canvas, layer, head }: Thumbnail): void {
  const { translation } = state;
  const weights = attentionMap(translation, layer, head, state.reading);
  const columns = translation.sourceWords.length + 1;
  canvas.width = columns;
  canvas.height = Math.max(1, weights.length);
  const colour = getComputedStyle(document.documentElement).getPropertyValue('--heat').trim(); // #rrggbb
  const channels = [1, 3, 5].map(start => parseInt(colour.slice(start, start + 2), 16));
  const context = canvas.getContext('2d');
  if (!context) return;
  const image = context.createImageData(canvas.width, canvas.height);
  weights.forEach((row, y) =>
    row.forEach((weight, column) => {
      const x = translation.sourceDirection === 'rtl' ? columns - 1 - column : column;
      image.data.set([...channels, Math.round(255 * weight)], 4 * (y * columns + x));
    }),
  );
  context.putImageData(image, 0, 0);
}
