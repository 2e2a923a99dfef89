import { describe, expect, it } from 'vitest';
import { chinese } from './chinese';
import { english } from './english';

describe('languages of the page', () => {
  it('have the same messages, none of them empty, and the same flags', () => {
    const shape = (value: object): unknown =>
      Object.fromEntries(Object.entries(value).map(([name, each]) => [name, typeof each === 'object' ? shape(each as object) : typeof each]));
    expect(shape(chinese)).toEqual(shape(english));
    for (const each of Object.values(chinese)) if (typeof each === 'string') expect(each).not.toBe('');
  });
});
