// The sentence of a caret in a translation, and the words of it that an alternative keeps.
import type { LocatedSentence } from './word-positions';

export interface CaretPlace {
  source: string;
  /** The text before the sentence. */
  before: string;
  /** The words of the sentence before the one at the caret. */
  prefix: string;
  /** The text after the sentence; empty if it was edited. */
  after: string;
}

const SPACELESS = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]$/u;

/** Find the sentence of a caret in `text`, an edited form of `original`, the translation of the sentences. */
export function caretPlace(
  text: string,
  caret: number,
  original: string,
  sentences: readonly LocatedSentence[],
): CaretPlace {
  const head = text.slice(0, caret);
  const kept = SPACELESS.test(head) ? head : head.replace(/\S+$/u, '');
  const isReached = ({ targetStart }: LocatedSentence) =>
    targetStart <= kept.length && text.startsWith(original.slice(0, targetStart));
  const index = Math.max(0, sentences.findLastIndex(isReached));
  const sentence = sentences[index]!;
  const start = index ? sentence.targetStart : 0;
  const after = original.slice(sentence.targetStart + sentence.text.length);
  return {
    source: sentence.source,
    before: text.slice(0, start),
    prefix: kept.slice(start).trimEnd(),
    after: text.endsWith(after) ? after : '',
  };
}

/** The best translation for each next word, the best first: others differ only later. */
export function distinctContinuations(translations: readonly string[], prefix: string): string[] {
  const found = new Map<string, string>();
  for (const each of translations) {
    const word = /[\p{L}\p{M}\p{N}]+/u.exec(continuation(each, prefix))?.[0].toLowerCase() ?? '';
    if (!found.has(word)) found.set(word, each);
  }
  return [...found.values()];
}

/** The part of a translation that follows its prefix. */
export function continuation(translation: string, prefix: string): string {
  return translation.startsWith(prefix) ? translation.slice(prefix.length) : translation;
}
