import { describe, expect, it } from 'vitest';
import { cut, laidOut, sentencesOf, wordAt } from './tokens';
import type { Translation } from './types';

const answer = (parts: Partial<Translation>): Translation => ({ source: '', text: '', score: 0, models: [], via: null, detected: null, ...parts });

describe('cut', () => {
  it('loses no character', () => {
    const text = ' Two  dogs,\nplay. ';
    const tokens = cut(text, ['Two', 'dogs', ',', 'play', '.']);
    expect(tokens.map(each => each.text).join('')).toBe(text);
    expect(tokens.filter(each => each.word !== null).map(each => each.text)).toEqual(['Two', 'dogs', ',', 'play', '.']);
  });

  it('takes words in order, also those that come twice', () => {
    const starts = cut('the cat the dog', ['the', 'cat', 'the', 'dog']).filter(each => each.word !== null);
    expect(starts.map(each => [each.word, each.start])).toEqual([[0, 0], [1, 4], [2, 8], [3, 12]]);
  });

  it('knows Chinese without spaces', () => {
    expect(cut('我们去北京', ['我', '们', '去', '北', '京']).map(each => each.word)).toEqual([0, 1, 2, 3, 4]);
  });

  it('finds normalised words, and leaves out what is not there', () => {
    const tokens = cut('ﬁne Ｗords', ['fine', 'gone', 'words']);
    expect(tokens.map(each => [each.text, each.word])).toEqual([['ﬁne', 0], [' ', null], ['Ｗords', 2]]);
  });
});

describe('sentences', () => {
  const source = 'One. One.  Two.';
  const text = 'Eins. Eins.  Zwei.';
  const part = (a: string, b: string) => ({ source: a, text: b, score: 0, source_words: [a], target_words: [b], alignment: [[0, 0]] as [number, number][] });
  const whole = answer({ source, text, sentences: [part('One.', 'Eins.'), part('One.', 'Eins.'), part('Two.', 'Zwei.')] });

  it('stand one after another', () => {
    const placed = sentencesOf(whole, source);
    expect(placed.map(each => [each.sourceStart, each.targetStart])).toEqual([[0, 0], [5, 6], [11, 13]]);
    for (const [side, all] of [['source', source], ['target', text]] as const) {
      const stretches = laidOut(all, placed, side);
      expect(stretches.flatMap(each => each.tokens).map(each => each.text).join('')).toBe(all);
      expect(new Set(stretches.map(each => each.start)).size).toBe(stretches.length);
    }
  });

  it('say which word is at a place', () => {
    const stretches = laidOut(source, sentencesOf(whole, source), 'source');
    expect(wordAt(stretches, 6)).toEqual({ sentence: 1, word: 0 });
    expect(wordAt(stretches, 9)).toEqual({ sentence: 1, word: 0 });
    expect(wordAt(stretches, 10)).toBeNull();
  });

  it('is the text itself where there is one', () => {
    expect(sentencesOf(answer({ source: 'One.', text: 'Eins.' }), 'One.')).toHaveLength(1);
  });
});
