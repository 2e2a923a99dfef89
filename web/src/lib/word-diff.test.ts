import { describe, expect, it } from 'vitest';
import { diffWords, isDifferentAt } from './word-diff';

const marked = (first: string, second: string) =>
  diffWords(first, second).map(parts => parts.filter(part => part.isDifferent).map(part => part.text));

describe('diffWords', () => {
  it('marks words that the other text lacks', () => {
    expect(marked('Zwei Hunde spielen im Schnee.', 'Zwei Hunde rennen im Schnee.')).toEqual([['spielen'], ['rennen']]);
    expect(marked('the same', 'the same')).toEqual([[], []]);
    expect(marked('委员会将公布', '委员会会公布')).toEqual([['将'], ['会']]);
  });

  it('keeps every character', () => {
    const [first, second] = diffWords(' a, b  c ', 'b c d');
    expect(first.map(part => part.text).join('')).toBe(' a, b  c ');
    expect(second.map(part => part.text).join('')).toBe('b c d');
    expect([0, 1, 2, 4].map(offset => isDifferentAt(first, offset))).toEqual([false, true, true, false]);
  });

  it('does not compare long texts', () => {
    const long = 'word '.repeat(2000);
    expect(marked(long, `${long}more`)[0]).toEqual([]);
  });
});
