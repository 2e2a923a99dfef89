// Terms with a translation of their own, or that stay as they are; kept by the browser, for each pair of languages.
import type { Glossary } from './types';

export interface Term {
  source: string;
  target: string;
  isKept: boolean;
}

const PLACE = 'dragoman.glossary';

export function storeName(source: string, target: string): string {
  return `${PLACE}.${source}.${target}`;
}

/** What a request takes; without any term, null. */
export function asGlossary(terms: readonly Term[]): Glossary | null {
  const entries = terms
    .map(term => [term.source.trim(), term.isKept ? null : term.target.trim()] as const)
    .filter(([source, target]) => source && target !== '');
  return entries.length ? Object.fromEntries(entries) : null;
}

/** What was kept, as far as it can be understood. */
export function termsFrom(text: string | null): Term[] {
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
