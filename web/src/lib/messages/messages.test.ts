import { describe, expect, it } from 'vitest';
import { english } from './en';
import { chinese } from './zh';

import details from './flag-details.json';

describe('details of flags', () => {
  const languageName = (code: string) => ({ en: '英语', zh: '中文' })[code] ?? code;
  const examples = Object.entries(details).flatMap(([flag, each]) =>
    Object.entries(each).map(([detail, translated]) => [flag, detail, translated] as const),
  );

  it.each(examples)('are in Chinese and in full-width brackets: %s (%s)', (flag, detail, translated) => {
    expect(chinese.flagDetail(flag, detail, languageName)).toBe(`（${translated}）`);
    expect(english.flagDetail(flag, detail, languageName)).toBe(`(${detail})`);
  });

  it('have an example for every flag', () => {
    expect(Object.keys(details)).toEqual(Object.keys(english.flagNames));
  });
});

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

  it('name the language of the API page if it is another one', () => {
    expect(chinese.api).toBe('HTTP API（英文）');
  });

  it('explain every flag in Chinese; the server explains them in English', () => {
    expect(Object.keys(chinese.flagMeanings)).toEqual(Object.keys(english.flagNames));
  });
});
