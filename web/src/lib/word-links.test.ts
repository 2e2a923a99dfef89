import { describe, expect, it } from 'vitest';
import { linkedWords, weightLevel, wordLinks } from './word-links';

const SENTENCE = {
  source: 'a b',
  text: 'x y',
  score: 0,
  source_words: ['a', 'b'],
  target_words: ['x', 'y'],
  weights: [
    [0.9, 0.05],
    [0.3, 0.6],
  ],
  alignment: [
    [0, 0],
    [1, 1],
  ] as [number, number][],
};

describe('word links', () => {
  it('reads a row for a target word and a column for a source word', () => {
    expect(wordLinks(SENTENCE, 'target', 1)).toEqual([
      { source: 1, target: 1, weight: 0.6 },
      { source: 0, target: 1, weight: 0.3 },
    ]);
    expect(wordLinks(SENTENCE, 'source', 0).map(link => link.weight)).toEqual([0.9, 0.3]);
    expect(wordLinks(SENTENCE, 'source', 1)).toHaveLength(1);
  });

  it('falls back to the alignment', () => {
    expect(wordLinks({ ...SENTENCE, weights: null }, 'source', 1)).toEqual([{ source: 1, target: 1, weight: 1 }]);
  });

  it('names the words of the other side', () => {
    expect(linkedWords(SENTENCE, 'source', 0)).toEqual([
      { text: 'x', weight: 0.9 },
      { text: 'y', weight: 0.3 },
    ]);
  });
});

it('has eleven levels of weight', () => {
  expect([-1, 0, 0.25, 1, 2].map(weightLevel)).toEqual([0, 0, 5, 10, 10]);
});
