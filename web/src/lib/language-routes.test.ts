import { describe, expect, it } from 'vitest';
import { directModels, sourceLanguages, targetLanguages, validTarget } from './language-routes';

describe('language routes', () => {
  const routes = [
    { source: 'en', target: 'de', models: [['one'], ['two']], via: null },
    { source: 'de', target: 'fr', models: [['one', 'three']], via: 'en' },
  ];

  it('lists sources and targets', () => {
    expect(sourceLanguages(routes)).toEqual(['de', 'en']);
    expect(targetLanguages(routes, 'auto')).toEqual(['de', 'fr']);
    expect(targetLanguages(routes, 'en')).toEqual(['de']);
  });

  it('lists the models of a pair, without pivots', () => {
    expect(directModels(routes, 'en', 'de')).toEqual(['one', 'two']);
    expect(directModels(routes, 'de', 'fr')).toEqual([]);
    expect(directModels(routes, 'fr', 'en')).toEqual([]);
  });

  it('replaces a target that the source does not have', () => {
    expect(validTarget(routes, 'de', 'de')).toBe('fr');
    expect(validTarget(routes, 'en', 'de')).toBe('de');
    expect(validTarget([], 'en', 'de')).toBe('');
  });
});
