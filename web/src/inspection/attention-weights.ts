// Attention maps from the flattened weights of the payload, and the links of one word.
import type { Side } from '../attention-map/attention-map';
import type { InspectedTranslation } from './payload';

/** Which decoding step the row of a target word shows: the one that writes the word, or the one that reads it. */
export type Reading = 'predicted' | 'given';
export type Rows = Float64Array[];

export const MEAN = -1; // as a layer or a head: the mean of all
const UNIT = 1000; // the payload has weights in thousandths

/** One map, [rows][columns], with weights from 0 to 1. */
export function attentionMap(
  translation: InspectedTranslation,
  layer: number,
  head: number,
  reading: Reading | 'steps',
): Rows {
  const columns = translation.sourceWords.length + 1;
  const words = translation.targetWords.length;
  const rows = { predicted: words + 1, given: words, steps: translation.tokens.length + 1 }[reading];
  const size = rows * columns;
  const sum = new Float64Array(size);
  const layers = layer === MEAN ? [...Array(translation.layers).keys()] : [layer];
  const heads = head === MEAN ? [...Array(translation.heads).keys()] : [head];
  for (const eachLayer of layers) {
    for (const eachHead of heads) {
      const start = (eachLayer * translation.heads + eachHead) * size;
      for (let i = 0; i < size; i++) sum[i]! += translation[reading][start + i] ?? 0;
    }
  }
  const scale = 1 / (UNIT * layers.length * heads.length);
  const scaled = sum.map(weight => weight * scale);
  return Array.from({ length: rows }, (_, row) => scaled.subarray(row * columns, (row + 1) * columns));
}

export interface WeightedWord {
  word: number;
  weight: number;
}

/** The words of the other side with their weights, largest first. */
export function linkedWords(weights: Rows, side: Side, word: number): WeightedWord[] {
  const all = side === 'target' ? [...(weights[word] ?? [])] : weights.map(row => row[word] ?? 0);
  return all.map((weight, index) => ({ word: index, weight })).sort((a, b) => b.weight - a.weight);
}
