// Glossary terms, stored in the browser per language pair.
import type { Glossary } from './types';

export interface Term {
  source: string;
  target: string;
  /** The term is not translated. */
  isKept: boolean;
}

export function glossaryKey(source: string, target: string): string {
  return `dragoman.glossary.${source}.${target}`;
}

/** The complete terms as a request takes them; null if there are none. */
export function toGlossary(terms: readonly Term[]): Glossary | null {
  const entries = terms
    .map(term => [term.source.trim(), term.isKept ? null : term.target.trim()] as const)
    .filter(([source, target]) => source && target !== '');
  return entries.length ? Object.fromEntries(entries) : null;
}

/** Parse stored terms; anything invalid is ignored. */
export function parseTerms(text: string | null): Term[] {
  try {
    const value: unknown = JSON.parse(text ?? '[]');
    return Array.isArray(value) ? value.filter(isTerm) : [];
  } catch {
    return [];
  }
}

function isTerm(value: unknown): value is Term {
  const { source, target, isKept } = (value ?? {}) as Partial<Term>;
  return typeof source === 'string' && typeof target === 'string' && typeof isKept === 'boolean';
}
