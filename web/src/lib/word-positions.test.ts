import { describe, expect, it } from 'vitest';
import { locateSentences, segmentText, splitAtWords, wordAt } from './word-positions';
import type { Translation } from './types';

const translation = (parts: Partial<Translation>): Translation => ({
  source: '',
  text: '',
  score: 0,
  models: [],
  via: null,
  detected: null,
  ...parts,
});

describe('splitAtWords', () => {
  it('keeps every character', () => {
    const text = ' Two  dogs,\nplay. ';
    const spans = splitAtWords(text, ['Two', 'dogs', ',', 'play', '.']);
    expect(spans.map(each => each.text).join('')).toBe(text);
    expect(spans.filter(each => each.word !== null).map(each => each.text)).toEqual(['Two', 'dogs', ',', 'play', '.']);
  });

  it('takes repeated words in order', () => {
    const starts = splitAtWords('the cat the dog', ['the', 'cat', 'the', 'dog']).filter(each => each.word !== null);
    expect(starts.map(each => [each.word, each.start])).toEqual([
      [0, 0],
      [1, 4],
      [2, 8],
      [3, 12],
    ]);
  });

  it('splits Chinese, which has no spaces', () => {
    expect(splitAtWords('我们去北京', ['我', '们', '去', '北', '京']).map(each => each.word)).toEqual([0, 1, 2, 3, 4]);
  });

  it('finds normalized words and skips missing ones', () => {
    const spans = splitAtWords('ﬁne Ｗords', ['fine', 'gone', 'words']);
    expect(spans.map(each => [each.text, each.word])).toEqual([
      ['ﬁne', 0],
      [' ', null],
      ['Ｗords', 2],
    ]);
  });
});

describe('sentences', () => {
  const source = 'One. One.  Two.';
  const text = 'Eins. Eins.  Zwei.';
  const part = (a: string, b: string) => ({
    source: a,
    text: b,
    score: 0,
    source_words: [a],
    target_words: [b],
    alignment: [[0, 0]] as [number, number][],
  });
  const whole = translation({
    source,
    text,
    sentences: [part('One.', 'Eins.'), part('One.', 'Eins.'), part('Two.', 'Zwei.')],
  });

  it('are located one after another', () => {
    const placed = locateSentences(whole, source);
    expect(placed.map(each => [each.sourceStart, each.targetStart])).toEqual([
      [0, 0],
      [5, 6],
      [11, 13],
    ]);
    for (const [side, all] of [
      ['source', source],
      ['target', text],
    ] as const) {
      const segments = segmentText(all, placed, side);
      expect(
        segments
          .flatMap(each => each.spans)
          .map(each => each.text)
          .join(''),
      ).toBe(all);
      expect(new Set(segments.map(each => each.start)).size).toBe(segments.length);
    }
  });

  it('have a word at each offset', () => {
    const segments = segmentText(source, locateSentences(whole, source), 'source');
    expect(wordAt(segments, 6)).toEqual({ sentence: 1, word: 0 });
    expect(wordAt(segments, 9)).toEqual({ sentence: 1, word: 0 });
    expect(wordAt(segments, 10)).toBeNull();
  });

  it('fall back to the whole text', () => {
    expect(locateSentences(translation({ source: 'One.', text: 'Eins.' }), 'One.')).toHaveLength(1);
  });
});
