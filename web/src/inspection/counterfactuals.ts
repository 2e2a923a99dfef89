// The card "What if": alternatives for a target word, and the translation that follows from each.
import { addArrowKeys } from '../attention-map/arrow-keys';
import { html } from '../attention-map/dom';
import { shareBar } from './decoding-steps';
import { formatNumber, formatPercent, isolatedWord, wordName } from './format';
import type { Counterfactual, MarkedText } from './payload';
import type { InspectionState } from './state';
import { wordButton } from './words';

export function counterfactualsCard(state: InspectionState): HTMLElement {
  const list = html('ul', { class: 'bars alternatives' });
  const outcome = html('div', { class: 'outcome', 'aria-live': 'polite' });
  let shownWord: number | null = null;
  state.subscribe({
    highlight: () => {
      const word = state.pinned?.side === 'target' ? state.pinned.word : null;
      if (word === null || word === shownWord) return;
      shownWord = word;
      list.replaceChildren(...alternatives(state, word, list, outcome));
      outcome.replaceChildren();
    },
  });
  const remark = 'Select a word of the translation, then an alternative. The model writes the rest of the translation.';
  return html(
    'section',
    { class: 'card', 'aria-labelledby': 'what-if' },
    html('h2', { id: 'what-if' }, 'What if'),
    html('p', { class: 'remark' }, remark),
    replaceableWords(state),
    list,
    outcome,
  );
}

/** The translation; only words with alternatives are enabled. */
function replaceableWords(state: InspectionState): HTMLElement {
  const { counterfactuals, targetDirection } = state.translation;
  const replaceable = new Set(counterfactuals.map(({ word }) => word));
  const row = html('p', {
    class: 'sentence target places',
    role: 'group',
    dir: targetDirection,
    'aria-label': 'Words to replace',
  });
  state.labels('target').forEach((label, word) => {
    const button = wordButton({ side: 'target', word }, label, state.end);
    button.disabled = !replaceable.has(word);
    button.tabIndex = word === Math.min(...replaceable) ? 0 : -1;
    if (button.disabled) button.classList.remove('word'); // the arrow keys skip it
    row.append(button);
  });
  return addArrowKeys(row);
}

function alternatives(state: InspectionState, word: number, list: HTMLElement, outcome: HTMLElement): HTMLElement[] {
  const found = state.translation.counterfactuals.filter(each => each.word === word);
  if (!found.length) return [html('li', { class: 'remark' }, 'No other word was tried here.')];
  found.sort((a, b) => (b.probability ?? 0) - (a.probability ?? 0));
  return found.map(each => html('li', {}, alternativeButton(state, each, list, outcome)));
}

function alternativeButton(
  state: InspectionState,
  { forced, probability, ...rest }: Counterfactual,
  list: HTMLElement,
  outcome: HTMLElement,
): HTMLButtonElement {
  const button = html(
    'button',
    { type: 'button', class: 'alternative', 'aria-pressed': 'false' },
    html('bdi', {}, forced ? wordName(forced) : state.end),
    shareBar(probability ?? 0),
    html('span', { class: 'share' }, probability === null ? '–' : formatPercent(probability)),
  );
  button.addEventListener('click', () => {
    for (const other of list.querySelectorAll('button')) other.setAttribute('aria-pressed', String(other === button));
    outcome.replaceChildren(...comparison(state, { forced, probability, ...rest }));
  });
  return button;
}

function comparison({ translation }: InspectionState, { forced, score, before, after }: Counterfactual): HTMLElement[] {
  const scoreText = (value: number | null) =>
    value === null ? '' : ` (mean log-probability ${formatNumber(value, 3)})`;
  const forcedWord = forced ? isolatedWord(forced) : 'the end';
  return [
    html('h3', {}, `Original${scoreText(translation.score)}`),
    markedParagraph(before, 'del', translation.targetDirection),
    html('h3', {}, 'With ', forcedWord, ` instead${scoreText(score)}`),
    markedParagraph(after, 'ins', translation.targetDirection),
  ];
}

function markedParagraph(parts: MarkedText, mark: 'del' | 'ins', direction: string): HTMLElement {
  const elements = parts.map(([text, isDifferent]) => html(isDifferent ? mark : 'span', {}, text));
  return html('p', { class: 'compared', dir: direction }, ...elements);
}
