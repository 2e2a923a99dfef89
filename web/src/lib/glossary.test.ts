import { describe, expect, it } from 'vitest';
import { asGlossary, termsFrom } from './glossary';

describe('glossary', () => {
  it('sends what is complete', () => {
    const terms = [
      { source: ' dog ', target: 'Hund', isKept: false },
      { source: 'Anna', target: 'x', isKept: true },
      { source: 'cat', target: ' ', isKept: false },
      { source: '', target: 'y', isKept: false },
    ];
    expect(asGlossary(terms)).toEqual({ dog: 'Hund', Anna: null });
    expect(asGlossary([])).toBeNull();
  });

  it('reads back what it wrote, and nothing else', () => {
    const terms = [{ source: 'a', target: 'b', isKept: false }];
    expect(termsFrom(JSON.stringify(terms))).toEqual(terms);
    expect([null, 'not JSON', '{}', '[1, null, {"source": 1}]'].map(termsFrom)).toEqual([[], [], [], []]);
  });
});
