// @vitest-environment happy-dom
import { expect, it } from 'vitest';
import { startAlignmentPage } from './alignment-page';

const MAP = {
  title: 'map',
  sourceWords: ['a', 'b'],
  targetWords: ['x', 'y'],
  weights: [[0.9, 0.1], [0.02, 0.01]], // prettier-ignore
  sourceDirection: 'ltr',
  targetDirection: 'ltr',
};

it('replaces static maps and links words', () => {
  const words = (side: string, texts: string[]) => {
    const buttons = texts.map(
      (text, word) => `<button class="word" data-side="${side}" data-word="${word}">${text}</button>`,
    );
    return `<p class="sentence ${side}" dir="ltr">${buttons.join('')}</p>`;
  };
  document.body.innerHTML = `
    <section class="sample">${words('source', MAP.sourceWords)}${words('target', MAP.targetWords)}
      <div class="scroll map-here"><svg></svg></div><p class="says"></p></section>
    <div class="scroll map-here"><svg></svg></div>`;
  for (const each of document.querySelectorAll('.map-here'))
    each.setAttribute('data-attention-map', JSON.stringify(MAP));
  startAlignmentPage();
  expect(document.querySelectorAll('.grid .cell')).toHaveLength(8);
  expect(document.querySelector('.map-here')).toBeNull();
  const [a, , x, y] = document.querySelectorAll<HTMLElement>('.word');
  const description = document.querySelector('.says');
  x?.focus();
  expect(description?.textContent).toBe('x attends to a 90\u00a0%, b 10\u00a0%');
  expect(document.querySelector('.map .lit')?.textContent).toBe('x');
  x?.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight', bubbles: true }));
  expect(document.activeElement).toBe(y);
  expect(description?.textContent).toBe('y is linked to no word in particular');
  a?.focus();
  expect(description?.textContent).toBe('a is attended to by x 90\u00a0%');
});
