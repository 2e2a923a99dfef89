import { describe, expect, it } from 'vitest';
import { defaultTarget, directModels, sourceLanguages, targetLanguages, validTarget } from './language-routes';

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

  it('prefers a direct model to a pivot', () => {
    const served = [
      { source: 'fr', target: 'ar', models: [['one', 'two']], via: 'en' },
      { source: 'fr', target: 'en', models: [['one']], via: null },
      { source: 'en', target: 'ar', models: [['two']], via: null },
    ];
    expect(defaultTarget(served, 'fr')).toBe('en');
    expect(defaultTarget(served, 'auto')).toBe('en');
    expect(validTarget(served, 'fr', 'de')).toBe('en');
    expect(validTarget(served, 'fr', 'ar')).toBe('ar');
  });
});
