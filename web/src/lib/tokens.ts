// Where the words that a model counted stand in a text that people see.
import type { Sentence, Translation } from './types';

/** A stretch of text; `word` is its number among the words of its sentence, or null for what lies between words. */
export interface Token {
  text: string;
  start: number;
  word: number | null;
}

/**
 * Cut a text at its words, which must come in order. A word that does not stand there as it is spelt (the model reads
 * normalised text) is looked for without regard to case and form; one that cannot be found is left out.
 */
export function cut(text: string, words: readonly string[]): Token[] {
  const tokens: Token[] = [];
  let done = 0;
  words.forEach((word, number) => {
    const found = find(text, word, done);
    if (!found) return;
    if (found.start > done) tokens.push({ text: text.slice(done, found.start), start: done, word: null });
    tokens.push({ text: text.slice(found.start, found.end), start: found.start, word: number });
    done = found.end;
  });
  if (done < text.length) tokens.push({ text: text.slice(done), start: done, word: null });
  return tokens;
}

const FARTHEST = 40; // a word farther on than this is another one of the same spelling

function find(text: string, word: string, from: number): { start: number; end: number } | null {
  if (!word) return null;
  const exact = text.indexOf(word, from);
  if (exact >= 0 && exact - from <= FARTHEST) return { start: exact, end: exact + word.length };
  const wanted = plain(word);
  const rest = /\S+/gu;
  rest.lastIndex = from;
  for (let each = rest.exec(text); each && each.index - from <= FARTHEST; each = rest.exec(text)) {
    if (plain(each[0]) === wanted) return { start: each.index, end: each.index + each[0].length };
  }
  return null;
}

function plain(word: string): string {
  return word.normalize('NFKC').toLowerCase();
}

/** A sentence and where it stands in the source and in the translation. */
export interface Placed extends Sentence {
  sourceStart: number;
  targetStart: number;
}

/** The sentences of a translation, one after another; a text of one sentence is that one. */
export function sentencesOf(translation: Translation, source: string): Placed[] {
  const parts: Sentence[] = translation.sentences?.length ? translation.sentences : [translation];
  let [sourceDone, targetDone] = [0, 0];
  return parts.map(part => {
    const sourceStart = place(source, part.source, sourceDone);
    const targetStart = place(translation.text, part.text, targetDone);
    sourceDone = Math.min(source.length, sourceStart + part.source.length);
    targetDone = Math.min(translation.text.length, targetStart + part.text.length);
    return { ...part, sourceStart, targetStart };
  });
}

function place(text: string, part: string, from: number): number {
  const found = text.indexOf(part, from);
  return found >= 0 ? found : from;
}

/** A sentence, or what lies between two (then `sentence` is null), cut at its words; starts count from the whole text. */
export interface Stretch {
  sentence: number | null;
  start: number;
  tokens: Token[];
}

/** A whole text on one side, cut at its sentences and words. */
export function laidOut(text: string, sentences: readonly Placed[], side: 'source' | 'target'): Stretch[] {
  const stretches: Stretch[] = [];
  let done = 0;
  const between = (end: number) => {
    if (end > done) stretches.push({ sentence: null, start: done, tokens: [{ text: text.slice(done, end), start: done, word: null }] });
  };
  sentences.forEach((each, sentence) => {
    const start = side === 'source' ? each.sourceStart : each.targetStart;
    const size = (side === 'source' ? each.source : each.text).length;
    const words = (side === 'source' ? each.source_words : each.target_words) ?? [];
    between(start);
    const tokens = cut(text.slice(start, start + size), words).map(token => ({ ...token, start: token.start + start }));
    stretches.push({ sentence, start, tokens });
    done = Math.min(text.length, start + size);
  });
  between(text.length);
  return stretches;
}

/** The word at a place of the text, or the one that ends there. */
export function wordAt(stretches: readonly Stretch[], place: number): { sentence: number; word: number } | null {
  let before: { sentence: number; word: number } | null = null;
  for (const { sentence, tokens } of stretches) {
    for (const token of tokens) {
      if (sentence === null || token.word === null) continue;
      const found = { sentence, word: token.word };
      if (token.start <= place && place < token.start + token.text.length) return found;
      if (token.start + token.text.length === place) before = found;
    }
  }
  return before;
}
