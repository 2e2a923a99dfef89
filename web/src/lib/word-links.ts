// Links between source and target words, from attention weights or from the alignment.
import type { Sentence } from './types';

export type Side = 'source' | 'target';

/** A word of one sentence. */
export interface WordPosition {
  sentence: number;
  side: Side;
  word: number;
}

export interface WordLink {
  source: number;
  target: number;
  weight: number;
}

const MIN_WEIGHT = 0.08; // weaker links are not shown

/** The links of a word, strongest first: from the weights if the sentence has any, otherwise from the alignment. */
export function wordLinks(sentence: Sentence, side: Side, word: number): WordLink[] {
  const all: WordLink[] = sentence.weights
    ? sentence.weights.flatMap((row, target) => row.map((weight, source) => ({ source, target, weight })))
    : (sentence.alignment ?? []).map(([source = 0, target = 0]) => ({ source, target, weight: 1 }));
  return all
    .filter(link => link[side] === word && link.weight >= MIN_WEIGHT)
    .sort((first, second) => second.weight - first.weight);
}

/** The linked words of the other side with their weights, strongest first. */
export function linkedWords(sentence: Sentence, side: Side, word: number): { text: string; weight: number }[] {
  const words = (side === 'source' ? sentence.target_words : sentence.source_words) ?? [];
  const other = side === 'source' ? 'target' : 'source';
  return wordLinks(sentence, side, word).map(link => ({ text: words[link[other]] ?? '', weight: link.weight }));
}

/** A weight as a level from 0 to 10 for CSS classes: the content security policy forbids style attributes. */
export function weightLevel(weight: number): number {
  return Math.round(10 * Math.sqrt(Math.min(1, Math.max(0, weight))));
}
