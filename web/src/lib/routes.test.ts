import { describe, expect, it } from 'vitest';
import { choices, fitting, sources, targets } from './routes';

describe('routes', () => {
  const routes = [
    { source: 'en', target: 'de', models: [['one'], ['two']], via: null },
    { source: 'de', target: 'fr', models: [['one', 'three']], via: 'en' },
  ];

  it('says what can be chosen', () => {
    expect(sources(routes)).toEqual(['de', 'en']);
    expect([targets(routes, 'auto'), targets(routes, 'en')]).toEqual([['de', 'fr'], ['de']]);
    expect([choices(routes, 'en', 'de'), choices(routes, 'de', 'fr'), choices(routes, 'fr', 'en')]).toEqual([['one', 'two'], [], []]);
    expect([fitting(routes, 'de', 'de'), fitting(routes, 'en', 'de'), fitting([], 'en', 'de')]).toEqual(['fr', 'de', '']);
  });
});
