// The card that plays back decoding: at each step the tokens so far, the most probable candidates and the attention.
import { html } from '../attention-map/dom';
import { attentionMap } from './attention-weights';
import { formatPercent, wordName } from './format';
import type { Candidate } from './payload';
import type { InspectionState } from './state';

const PLAY_INTERVAL = 900; // milliseconds per step

export function decodingStepsCard(state: InspectionState): HTMLElement {
  const { tokens, layers, sourceDirection, targetDirection } = state.translation;
  const written = html('p', { class: 'tokens', dir: targetDirection });
  const candidates = html('ol', { class: 'bars candidates' });
  const attention = html('p', { class: 'looks', dir: sourceDirection });
  const attentionHeading = html('h3');
  state.subscribe({
    step: () => {
      written.replaceChildren(...writtenTokens(state));
      const listed = state.translation.candidates[state.step] ?? [];
      candidates.replaceChildren(...listed.map(candidate => candidateItem(candidate, state.end)));
      attention.replaceChildren(...stepAttention(state));
      attentionHeading.textContent = `Attention at this step, ${state.mapName()}`;
    },
  });
  const card = html(
    'section',
    { class: 'card', 'aria-labelledby': 'steps' },
    html('h2', { id: 'steps' }, 'Step by step'),
    stepControls(state),
    html('h3', {}, 'Written so far'),
    written,
    html('h3', {}, 'Most probable tokens at this step'),
    candidates,
  );
  if (layers) card.append(attentionHeading, attention);
  if (tokens.some(token => token.includes('▁'))) {
    card.append(html('p', { class: 'remark' }, '▁ is the space before a word.'));
  }
  return card;
}

function stepControls(state: InspectionState): HTMLElement {
  const count = state.translation.tokens.length + 1;
  const slider = html('input', { type: 'range', min: 0, max: count - 1, step: 1, 'aria-label': 'Step' });
  const back = html('button', { type: 'button', 'aria-label': 'One step back' }, '‹');
  const forward = html('button', { type: 'button', 'aria-label': 'One step on' }, '›');
  const place = html('output', { class: 'place' });
  slider.addEventListener('input', () => state.goToStep(Number(slider.value)));
  back.addEventListener('click', () => state.goToStep(state.step - 1));
  forward.addEventListener('click', () => state.goToStep(state.step + 1));
  state.subscribe({
    step: () => {
      place.textContent = `${state.step + 1} of ${count}`;
      slider.value = String(state.step);
      slider.setAttribute('aria-valuetext', `step ${place.textContent}`);
      back.disabled = state.step === 0;
      forward.disabled = state.step === count - 1;
    },
  });
  return html('div', { class: 'player' }, back, playButton(state, slider, count), forward, slider, place);
}

function playButton(state: InspectionState, slider: HTMLElement, count: number): HTMLButtonElement {
  let timer: ReturnType<typeof setInterval> | null = null;
  const button = html('button', { type: 'button' }, 'Play');
  const stop = () => {
    if (timer !== null) clearInterval(timer);
    timer = null;
    button.textContent = 'Play';
  };
  const advance = () => {
    if (state.step >= count - 1 || !button.isConnected) stop();
    else state.goToStep(state.step + 1);
  };
  button.addEventListener('click', () => {
    if (timer !== null) {
      stop();
      return;
    }
    if (state.step >= count - 1) state.goToStep(0);
    button.textContent = 'Stop';
    timer = setInterval(advance, PLAY_INTERVAL);
  });
  slider.addEventListener('input', stop);
  return button;
}

function writtenTokens({ translation, step, end }: InspectionState): HTMLElement[] {
  const before = translation.tokens.slice(0, step).map(token => html('bdi', { class: 'token' }, token));
  return [...before, html('bdi', { class: 'token now' }, translation.tokens[step] ?? end)];
}

function candidateItem([text, probability, isEnd, isWritten]: Candidate, end: string): HTMLElement {
  const share = probability ?? 0;
  return html(
    'li',
    { class: isWritten && 'written' },
    html('bdi', {}, isEnd ? end : wordName(text)),
    shareBar(share),
    html('span', { class: 'share' }, formatPercent(share)),
    html('span', { class: 'note' }, isWritten ? 'written' : ''),
  );
}

/** A bar filled to a share from 0 to 1. */
export function shareBar(share: number): HTMLElement {
  const bar = html('i');
  bar.style.width = `${(100 * Math.min(1, share)).toFixed(1)}%`;
  return html('span', { class: 'bar' }, bar);
}

/** The source words, shaded by the attention weights of the step that wrote the current token. */
function stepAttention(state: InspectionState): HTMLElement[] {
  const { translation, layer, head, step } = state;
  if (!translation.layers) return [];
  const weights = attentionMap(translation, layer, head, 'steps')[step];
  return state.labels('source').map((label, word) => {
    const weight = weights?.[word] ?? 0;
    const shaded = html('bdi', { class: 'look', title: formatPercent(weight) }, label);
    shaded.style.setProperty('--weight', Math.min(0.85, weight).toFixed(3));
    return shaded;
  });
}
