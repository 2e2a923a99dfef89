import { describe, expect, it } from 'vitest';
import { linksOf, partners, step } from './attention';

const sentence = {
  source: 'a b', text: 'x y', score: 0, source_words: ['a', 'b'], target_words: ['x', 'y'],
  weights: [[0.9, 0.05], [0.3, 0.6]], alignment: [[0, 0], [1, 1]] as [number, number][],
};

describe('linksOf', () => {
  it('reads a row for a target word and a column for a source word', () => {
    expect(linksOf(sentence, 'target', 1)).toEqual([{ source: 1, target: 1, weight: 0.6 }, { source: 0, target: 1, weight: 0.3 }]);
    expect(linksOf(sentence, 'source', 0).map(each => each.weight)).toEqual([0.9, 0.3]);
    expect(linksOf(sentence, 'source', 1)).toHaveLength(1);
  });

  it('falls back to the alignment', () => {
    const { weights, ...aligned } = sentence;
    expect(weights).toBeDefined();
    expect(linksOf(aligned, 'source', 1)).toEqual([{ source: 1, target: 1, weight: 1 }]);
  });

  it('names the words of the other side', () => {
    expect(partners(sentence, 'source', 0)).toEqual([{ text: 'x', weight: 0.9 }, { text: 'y', weight: 0.3 }]);
  });
});

it('has eleven steps', () => {
  expect([-1, 0, 0.25, 1, 2].map(step)).toEqual([0, 0, 5, 10, 10]);
});
