// Positions in the displayed text of the sentences and words that the server reports.
import type { Side } from './word-links';
import type { Sentence, Translation } from './types';

/** A part of a text: a word, by its index in the sentence, or the text between two words (`word` is null). */
export interface TextSpan {
  text: string;
  start: number;
  word: number | null;
}

/**
 * Split a text at its words, which must be in order. The server normalizes text: a word that does not occur literally
 * is searched for ignoring case and Unicode form. A word that is not found is skipped.
 */
export function splitAtWords(text: string, words: readonly string[]): TextSpan[] {
  const spans: TextSpan[] = [];
  let done = 0;
  words.forEach((word, index) => {
    const found = findWord(text, word, done);
    if (!found) return;
    if (found.start > done) spans.push({ text: text.slice(done, found.start), start: done, word: null });
    spans.push({ text: text.slice(found.start, found.end), start: found.start, word: index });
    done = found.end;
  });
  if (done < text.length) spans.push({ text: text.slice(done), start: done, word: null });
  return spans;
}

const MAX_DISTANCE = 40; // characters; a match farther away is another occurrence of the word

function findWord(text: string, word: string, from: number): { start: number; end: number } | null {
  if (!word) return null;
  const exact = text.indexOf(word, from);
  if (exact >= 0 && exact - from <= MAX_DISTANCE) return { start: exact, end: exact + word.length };
  const normalized = normalize(word);
  const pattern = /\S+/gu;
  pattern.lastIndex = from;
  for (let match = pattern.exec(text); match && match.index - from <= MAX_DISTANCE; match = pattern.exec(text)) {
    if (normalize(match[0]) === normalized) return { start: match.index, end: match.index + match[0].length };
  }
  return null;
}

function normalize(word: string): string {
  return word.normalize('NFKC').toLowerCase();
}

/** A sentence and its start in the source and in the translation. */
export type LocatedSentence = Sentence & { sourceStart: number; targetStart: number };

/** The sentences of a translation; a text of one sentence has no `sentences` and is that sentence itself. */
export function locateSentences(translation: Translation, source: string): LocatedSentence[] {
  const sentences: Sentence[] = translation.sentences?.length ? translation.sentences : [translation];
  let [sourceDone, targetDone] = [0, 0];
  return sentences.map(sentence => {
    const sourceStart = findFrom(source, sentence.source, sourceDone);
    const targetStart = findFrom(translation.text, sentence.text, targetDone);
    sourceDone = Math.min(source.length, sourceStart + sentence.source.length);
    targetDone = Math.min(translation.text.length, targetStart + sentence.text.length);
    return { ...sentence, sourceStart, targetStart };
  });
}

function findFrom(text: string, part: string, from: number): number {
  const found = text.indexOf(part, from);
  return found >= 0 ? found : from;
}

/** A sentence, or the text between two (`sentence` is null), as spans. Starts are relative to the whole text. */
export interface TextSegment {
  sentence: number | null;
  start: number;
  spans: TextSpan[];
}

/** Split a text at its sentences and words. */
export function segmentText(text: string, sentences: readonly LocatedSentence[], side: Side): TextSegment[] {
  const segments: TextSegment[] = [];
  let done = 0;
  const addTextBefore = (end: number) => {
    if (end <= done) return;
    segments.push({ sentence: null, start: done, spans: [{ text: text.slice(done, end), start: done, word: null }] });
  };
  sentences.forEach((sentence, index) => {
    const isSource = side === 'source';
    const start = isSource ? sentence.sourceStart : sentence.targetStart;
    const end = start + (isSource ? sentence.source : sentence.text).length;
    const words = (isSource ? sentence.source_words : sentence.target_words) ?? [];
    addTextBefore(start);
    const spans = splitAtWords(text.slice(start, end), words).map(span => ({ ...span, start: span.start + start }));
    segments.push({ sentence: index, start, spans });
    done = Math.min(text.length, end);
  });
  addTextBefore(text.length);
  return segments;
}

/** The word at an offset of the text, or the word that ends there. */
export function wordAt(segments: readonly TextSegment[], offset: number): { sentence: number; word: number } | null {
  let before: { sentence: number; word: number } | null = null;
  for (const { sentence, spans } of segments) {
    for (const span of spans) {
      if (sentence === null || span.word === null) continue;
      const found = { sentence, word: span.word };
      const end = span.start + span.text.length;
      if (span.start <= offset && offset < end) return found;
      if (end === offset) before = found;
    }
  }
  return before;
}
