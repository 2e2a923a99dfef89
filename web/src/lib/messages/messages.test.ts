import { describe, expect, it } from 'vitest';
import { english } from './en';
import { chinese } from './zh';

describe('messages', () => {
  const shape = (value: object): unknown =>
    Object.fromEntries(
      Object.entries(value).map(([name, each]) => [
        name,
        typeof each === 'object' ? shape(each as object) : typeof each,
      ]),
    );

  it('exist in every language and are not empty', () => {
    expect(shape({ ...chinese, flagMeanings: {}, errorCodes: {} })).toEqual(shape(english));
    for (const message of Object.values(chinese)) if (typeof message === 'string') expect(message).not.toBe('');
  });

  it('explain every flag in Chinese; the server explains them in English', () => {
    expect(Object.keys(chinese.flagMeanings)).toEqual(Object.keys(english.flagNames));
  });
});
