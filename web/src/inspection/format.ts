// Numbers and words as text.
import { html } from '../attention-map/dom';

export function formatPercent(share: number): string {
  if (share > 0 && share < 0.0005) return '<\u00a00.1\u00a0%';
  return `${share < 0.1 ? (100 * share).toFixed(1) : Math.round(100 * share)}\u00a0%`;
}

export function formatNumber(value: number | null, digits = 2): string {
  return value === null ? '–' : value.toFixed(digits).replace('-', '−');
}

export function wordName(word: string): string {
  return word.trim() || 'a space';
}

/** A word in an element of its own, so that its direction does not affect the text around it. */
export function isolatedWord(word: string): HTMLElement {
  return html('bdi', {}, wordName(word));
}
