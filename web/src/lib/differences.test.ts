import { describe, expect, it } from 'vitest';
import { differences, isOtherAt } from './differences';

const marked = (first: string, second: string) =>
  differences(first, second).map(parts => parts.filter(part => part.isOther).map(part => part.text));

describe('differences', () => {
  it('marks what the other one does not have', () => {
    expect(marked('Zwei Hunde spielen im Schnee.', 'Zwei Hunde rennen im Schnee.')).toEqual([['spielen'], ['rennen']]);
    expect(marked('the same', 'the same')).toEqual([[], []]);
    expect(marked('委员会将公布', '委员会会公布')).toEqual([['将'], ['会']]);
  });

  it('loses nothing', () => {
    const [first, second] = differences(' a, b  c ', 'b c d');
    expect(first.map(part => part.text).join('')).toBe(' a, b  c ');
    expect(second.map(part => part.text).join('')).toBe('b c d');
    expect([0, 1, 2, 4].map(place => isOtherAt(first, place))).toEqual([false, true, true, false]);
  });

  it('does not compare what is too long', () => {
    const long = 'word '.repeat(2000);
    expect(marked(long, `${long}more`)[0]).toEqual([]);
  });
});
