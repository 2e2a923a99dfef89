import { describe, expect, it } from 'vitest';
import { caretPlace, continuation, distinctContinuations } from './caret';
import { locateSentences } from './word-positions';
import type { Translation } from './types';

const source = 'Two dogs play. A man sleeps.';
const text = 'Zwei Hunde spielen. Ein Mann schläft.';
const translation = {
  source,
  text,
  sentences: [
    { source: 'Two dogs play.', text: 'Zwei Hunde spielen.', score: null },
    { source: 'A man sleeps.', text: 'Ein Mann schläft.', score: null },
  ],
} as unknown as Translation;
const sentences = locateSentences(translation, source);

describe('caretPlace', () => {
  it('keeps the words before the one at the caret, and the other sentences', () => {
    const place = caretPlace(text, text.indexOf('Hunde') + 2, text, sentences);
    expect(place).toEqual({ source: 'Two dogs play.', before: '', prefix: 'Zwei', after: ' Ein Mann schläft.' });
  });

  it('finds a later sentence', () => {
    const place = caretPlace(text, text.indexOf('schläft'), text, sentences);
    expect(place).toEqual({ source: 'A man sleeps.', before: 'Zwei Hunde spielen. ', prefix: 'Ein Mann', after: '' });
  });

  it('follows an edit in the sentence', () => {
    const edited = 'Zwei Rüden spielen. Ein Mann schläft.';
    const place = caretPlace(edited, edited.indexOf('spielen'), text, sentences);
    expect(place).toMatchObject({ source: 'Two dogs play.', prefix: 'Zwei Rüden', after: ' Ein Mann schläft.' });
  });

  it('splits text without spaces at the caret', () => {
    const [one] = locateSentences({ source: 'a', text: '两只狗在玩' } as unknown as Translation, 'a');
    expect(caretPlace('两只狗在玩', 3, '两只狗在玩', [one!]).prefix).toBe('两只狗');
  });
});

it('one alternative is kept for each next word', () => {
  const texts = ['Remova a tampa.', 'Remova a tampa .', 'Remova a Tampa da', 'Remova a capa.'];
  expect(distinctContinuations(texts, 'Remova a')).toEqual(['Remova a tampa.', 'Remova a capa.']);
});

it('a continuation is what follows the prefix', () => {
  expect(continuation('Zwei Hunde', 'Zwei')).toBe(' Hunde');
  expect(continuation('zwei Hunde', 'Zwei')).toBe('zwei Hunde');
});
