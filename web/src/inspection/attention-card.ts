// The card with the attention weights of one layer and head: selection, heat map, links, and a thumbnail per head.
import { AttentionMap, NONE, type AttentionMapData } from '../attention-map/attention-map';
import { html } from '../attention-map/dom';
import { attentionLinks } from './attention-links';
import { MEAN } from './attention-weights';
import { formatPercent, isolatedWord } from './format';
import { headThumbnails } from './head-thumbnails';
import type { InspectionState } from './state';

export function attentionCard(state: InspectionState): HTMLElement {
  const { layers, heads } = state.translation;
  // The line of the words card is read out; this one would repeat it at each movement of the pointer.
  const description = html('p', { class: 'says of-cell', 'aria-hidden': 'true' });
  const maps = html('div', { class: 'maps' }, heatMap(state, description), attentionLinks(state));
  if (layers * heads > 1) maps.append(headThumbnails(state));
  return html(
    'section',
    { class: 'card', 'aria-labelledby': 'attention' },
    html('h2', { id: 'attention' }, 'Attention'),
    mapSelection(state),
    description,
    maps,
  );
}

function heatMap(state: InspectionState, description: HTMLElement): HTMLElement {
  const map = new AttentionMap({
    label: 'Heat map',
    onCell: (row, column) => {
      state.hover({ side: 'target', word: row });
      map.highlight(row, column);
      const [target, source] = [state.labels('target')[row], state.labels('source')[column]];
      const weight = state.weights()[row]?.[column] ?? 0;
      const words = [isolatedWord(target ?? ''), ' attends to ', isolatedWord(source ?? '')];
      description.replaceChildren(...words, `: ${formatPercent(weight)}`);
    },
    onLeave: () => {
      description.replaceChildren();
      state.hover(null);
    },
  });
  state.subscribe({
    map: () => map.render(mapData(state)),
    highlight: () => {
      const { side, word } = state.highlighted ?? { side: null, word: NONE };
      map.highlight(side === 'target' ? word : NONE, side === 'source' ? word : NONE);
    },
  });
  return map.element;
}

function mapData(state: InspectionState): AttentionMapData {
  const { sourceWords, targetWords, sourceDirection, targetDirection } = state.translation;
  return {
    title: `Heat map, ${state.mapName()}`,
    sourceLabels: state.labels('source'),
    targetLabels: state.labels('target'),
    sourceWordCount: sourceWords.length,
    targetWordCount: targetWords.length,
    weights: state.weights(),
    sourceDirection,
    targetDirection,
    hasTotals: true,
  };
}

type Option = [value: string, text: string];

function mapSelection(state: InspectionState): HTMLElement {
  const { layers, heads } = state.translation;
  const numbered = (count: number, word: string): Option[] => [
    ...Array.from({ length: count }, (_, index): Option => [String(index), `${word} ${index + 1}`]),
    [String(MEAN), `mean of ${word}s`],
  ];
  const row = html('div', { class: 'choosers' });
  if (layers > 1) row.append(selectField(state, 'Layer', 'layer', numbered(layers, 'layer')));
  if (heads > 1) row.append(selectField(state, 'Head', 'head', numbered(heads, 'head')));
  const readings: Option[] = [
    ['predicted', 'the step that writes it'],
    ['given', 'the step that reads it'],
  ];
  row.append(selectField(state, 'The row of a word shows', 'reading', readings));
  return row;
}

function selectField(
  state: InspectionState,
  label: string,
  name: 'layer' | 'head' | 'reading',
  options: Option[],
): HTMLElement {
  const field = html('select', { name }, ...options.map(([value, text]) => html('option', { value }, text)));
  field.addEventListener('change', () => {
    state.selectMap({ [name]: name === 'reading' ? field.value : Number(field.value) });
  });
  state.subscribe({ map: () => (field.value = String(state[name])) });
  return html('label', { class: 'chooser' }, `${label} `, field);
}
