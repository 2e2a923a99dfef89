// The inspection page: a list of translations and the cards of the selected one.
//
// The page holds <div id="static">, shown without scripting, <div id="live"> and the payload (see payload.ts).
import '../attention-map/attention-map.css';
import { html } from '../attention-map/dom';
import { attentionCard } from './attention-card';
import { counterfactualsCard } from './counterfactuals';
import { decodingStepsCard } from './decoding-steps';
import { readPayload, type InspectedTranslation } from './payload';
import { searchTreeCard } from './search-tree';
import { InspectionState, type WordPosition } from './state';
import { wordsCard } from './words';
import './inspection.css';

/** Replace the static page by the interactive one. */
export function startInspectionPage(): void {
  const { end, translations } = readPayload();
  const live = document.getElementById('live');
  const [first] = translations;
  if (!first || !live) return;
  const cards = html('div', { id: 'open' });
  live.append(cards);
  document.getElementById('static')?.remove();
  let state = showTranslation(first, end, cards);
  if (translations.length > 1) {
    live.prepend(translationList(translations, selected => (state = showTranslation(selected, end, cards))));
  }
  followWords(live, () => state);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => state.notify('theme'));
  let width = innerWidth;
  addEventListener('resize', () => {
    if (innerWidth === width) return; // a phone resizes the window when its toolbar hides
    width = innerWidth;
    state.notify('map', 'highlight');
  });
}

function showTranslation(translation: InspectedTranslation, end: string, container: HTMLElement): InspectionState {
  const state = new InspectionState(translation, end);
  const cards = [wordsCard(state)];
  if (translation.layers) cards.push(attentionCard(state));
  if (translation.candidates.length) cards.push(decodingStepsCard(state));
  if (translation.counterfactuals.length) cards.push(counterfactualsCard(state));
  if (translation.tree.length) cards.push(searchTreeCard(state));
  container.replaceChildren(...cards);
  state.notify('map', 'step', 'highlight');
  return state;
}

function translationList(
  translations: readonly InspectedTranslation[],
  onSelect: (translation: InspectedTranslation) => void,
): HTMLElement {
  const buttons = translations.map((translation, index) => {
    const text = html('bdi', { dir: translation.sourceDirection }, translation.source.trim() || '(empty)');
    const button = html('button', { type: 'button', 'aria-current': String(index === 0) }, text);
    button.addEventListener('click', () => {
      for (const other of buttons) other.setAttribute('aria-current', String(other === button));
      onSelect(translation);
    });
    return button;
  });
  const list = html('ol', { class: 'translations' }, ...buttons.map(button => html('li', {}, button)));
  return html('nav', { 'aria-label': 'Translations' }, list);
}

/** Highlight the word under the pointer; a click, a tap or keyboard focus keeps a word highlighted. */
function followWords(live: HTMLElement, state: () => InspectionState): void {
  live.addEventListener('pointerover', event => {
    // The heat map follows the pointer within its area itself.
    const isMap = event.target instanceof Element && event.target.classList.contains('ground');
    if (event.pointerType !== 'touch' && !isMap) state().hover(wordOf(event));
  });
  live.addEventListener('pointerleave', () => state().hover(null));
  for (const type of ['focusin', 'click']) {
    live.addEventListener(type, event => {
      const position = wordOf(event);
      if (position) state().pin(position);
    });
  }
}

function wordOf(event: Event): WordPosition | null {
  const element = event.target instanceof Element ? event.target.closest<HTMLElement>('[data-side]') : null;
  if (!element || element.matches(':disabled')) return null;
  const { side, word } = element.dataset;
  return { side: side === 'source' ? 'source' : 'target', word: Number(word) };
}
