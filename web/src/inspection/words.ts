// The card with the two sentences, word by word, and a line that describes the highlighted word.
import type { Side } from '../attention-map/attention-map';
import { addArrowKeys } from '../attention-map/arrow-keys';
import { html } from '../attention-map/dom';
import { coverage, entropyBits } from '../attention-map/statistics';
import { linkedWords } from './attention-weights';
import { formatNumber, formatPercent, isolatedWord } from './format';
import type { InspectionState, WordPosition } from './state';

const MIN_LISTED = 0.05; // smallest weight that the description mentions
const MAX_LISTED = 5;
const FULL_COVERAGE = 2; // coverage of a full bar

export function wordsCard(state: InspectionState): HTMLElement {
  const { score, model, layers, flags } = state.translation;
  const description = html('p', { class: 'says', 'aria-live': 'polite' });
  const rows = { source: sentenceRow(state, 'source'), target: sentenceRow(state, 'target') };
  const heading = [model, score === null ? '' : `mean log-probability ${formatNumber(score, 3)}`];
  const card = html(
    'section',
    { class: 'card sample', 'aria-labelledby': 'words' },
    html('h2', { id: 'words' }, heading.filter(Boolean).join(' · ') || 'Source and translation'),
    rows.source,
    rows.target,
    html('ul', { class: 'flags' }, ...flags.map(flag => html('li', { class: 'flag' }, flag))),
  );
  if (layers) {
    card.append(description, barLegend(state));
    state.subscribe({ map: () => drawBars(state, rows) });
  }
  state.subscribe({ highlight: () => highlightWords(state, description) });
  return card;
}

function sentenceRow(state: InspectionState, side: Side): HTMLElement {
  const { layers, sourceDirection, targetDirection } = state.translation;
  const labels = layers ? state.labels(side) : state.labels(side).slice(0, -1);
  const isSource = side === 'source';
  const row = html('p', {
    class: `sentence ${side}`,
    role: 'group',
    dir: isSource ? sourceDirection : targetDirection,
    'aria-label': isSource ? 'Source, word by word' : 'Translation, word by word',
  });
  row.append(...labels.map((label, word) => wordButton({ side, word }, label, state.end)));
  return addArrowKeys(row);
}

export function wordButton({ side, word }: WordPosition, text: string, end: string): HTMLButtonElement {
  const place = { 'data-side': side, 'data-word': word, tabindex: word ? -1 : 0 };
  return html(
    'button',
    { type: 'button', class: text === end ? 'word end' : 'word', ...place },
    html('bdi', {}, text.trim() ? text : '\u00a0'),
    html('span', { class: 'bar' }, html('i')),
  );
}

function barLegend(state: InspectionState): HTMLElement {
  const maxEntropy = Math.log2(state.translation.sourceWords.length + 1);
  return html(
    'p',
    { class: 'remark' },
    'Bars under the source show coverage: the total attention from all target words; a full bar is 2 or more. About 1 ',
    'is usual; near 0 may be an omitted word, far more a repeated one. Bars under the translation show entropy: how ',
    `widely attention is spread, from 0 bits (one word) to ${formatNumber(maxEntropy, 1)} (all words equally).`,
  );
}

function drawBars(state: InspectionState, rows: Record<Side, HTMLElement>): void {
  const weights = state.weights();
  const { sourceWords, targetWords } = state.translation;
  const maxEntropy = Math.log2(sourceWords.length + 1);
  const set = (button: HTMLElement, share: number, title: string) => {
    const bar = button.querySelector('i');
    if (bar) bar.style.width = `${Math.round(100 * Math.min(1, share))}%`;
    button.title = title;
  };
  rows.source.querySelectorAll<HTMLElement>('.word').forEach((button, column) => {
    const total = coverage(weights, column, targetWords.length);
    set(button, total / FULL_COVERAGE, `coverage ${formatNumber(total)}`);
  });
  rows.target.querySelectorAll<HTMLElement>('.word').forEach((button, row) => {
    const bits = entropyBits(weights[row] ?? []);
    set(button, bits / maxEntropy, `entropy ${formatNumber(bits)} bits`);
  });
}

/** Highlight words anywhere on the page; the maps highlight their own labels. */
function highlightWords(state: InspectionState, description: HTMLElement): void {
  const { highlighted } = state;
  const weights = state.translation.layers && highlighted ? state.weights() : [];
  const links = new Map<number, number>();
  if (highlighted) {
    for (const { word, weight } of linkedWords(weights, highlighted.side, highlighted.word)) links.set(word, weight);
  }
  for (const button of document.querySelectorAll<HTMLElement>('#live .word')) {
    const word = Number(button.dataset.word);
    const isSameSide = highlighted?.side === button.dataset.side;
    button.classList.toggle('chosen', isSameSide && highlighted?.word === word);
    const weight = isSameSide ? 0 : (links.get(word) ?? 0);
    button.style.setProperty('--weight', Math.min(0.85, weight).toFixed(3));
  }
  description.replaceChildren(...(highlighted && state.translation.layers ? describeWord(state, highlighted) : []));
}

function describeWord(state: InspectionState, { side, word }: WordPosition): (Node | string)[] {
  const weights = state.weights();
  const links = linkedWords(weights, side, word);
  if (!links.length) return ['No step reads the end of the translation.'];
  const labels = state.labels(side === 'target' ? 'source' : 'target');
  const listed = links.filter(link => link.weight >= MIN_LISTED).slice(0, MAX_LISTED);
  const parts = listed.flatMap((link, place) => [
    place ? ', ' : '',
    isolatedWord(labels[link.word] ?? ''),
    ` ${formatPercent(link.weight)}`,
  ]);
  const total =
    side === 'target'
      ? `entropy ${formatNumber(entropyBits(weights[word] ?? []))} bits`
      : `coverage ${formatNumber(coverage(weights, word, state.translation.targetWords.length))}`;
  const subject = isolatedWord(state.labels(side)[word] ?? '');
  if (!parts.length) return [subject, ` is linked to no word in particular; ${total}`];
  return [subject, side === 'target' ? ' attends to ' : ' is attended to by ', ...parts, `; ${total}`];
}
