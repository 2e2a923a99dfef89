import { describe, expect, it } from 'vitest';
import { toGlossary, parseTerms } from './glossary';

describe('glossary', () => {
  it('contains the complete terms', () => {
    const terms = [
      { source: ' dog ', target: 'Hund', isKept: false },
      { source: 'Anna', target: 'x', isKept: true },
      { source: 'cat', target: ' ', isKept: false },
      { source: '', target: 'y', isKept: false },
    ];
    expect(toGlossary(terms)).toEqual({ dog: 'Hund', Anna: null });
    expect(toGlossary([])).toBeNull();
  });

  it('restores stored terms and ignores anything else', () => {
    const terms = [{ source: 'a', target: 'b', isKept: false }];
    expect(parseTerms(JSON.stringify(terms))).toEqual(terms);
    expect([null, 'not JSON', '{}', '[1, null, {"source": 1}]'].map(parseTerms)).toEqual([[], [], [], []]);
  });
});
