// What a word attended to, or was attended to by.
import type { Sentence } from './types';

export type Side = 'source' | 'target';

/** A word of a sentence. */
export interface Spot {
  sentence: number;
  side: Side;
  word: number;
}

export interface Link {
  source: number;
  target: number;
  weight: number;
}

const LEAST = 0.08; // fainter links are noise to the eye

/** The links of a word, the strongest first: by weights where there are any, else by the alignment. */
export function linksOf(sentence: Sentence, side: Side, word: number): Link[] {
  const rows = sentence.weights;
  const links: Link[] = [];
  if (rows) {
    rows.forEach((row, target) =>
      row.forEach((weight, source) => {
        if ((side === 'source' ? source : target) === word && weight >= LEAST) links.push({ source, target, weight });
      }),
    );
  } else {
    for (const [source, target] of sentence.alignment ?? []) {
      if ((side === 'source' ? source : target) === word) links.push({ source, target, weight: 1 });
    }
  }
  return links.sort((first, second) => second.weight - first.weight);
}

/** The words of the other side, with how much: what a line under the panes says. */
export function partners(sentence: Sentence, side: Side, word: number): { text: string; weight: number }[] {
  const words = (side === 'source' ? sentence.target_words : sentence.source_words) ?? [];
  return linksOf(sentence, side, word).map(link => ({
    text: words[side === 'source' ? link.target : link.source] ?? '',
    weight: link.weight,
  }));
}

/** In eleven steps, for classes: a page under a strict policy has no style attributes. */
export function step(weight: number): number {
  return Math.round(10 * Math.sqrt(Math.min(1, Math.max(0, weight))));
}
