// 质量标记的细节：服务器用英文发送，这里译成中文。不认识的写法原样显示。

type LanguageName = (code: string) => string;

const list = (words: string) => words.replaceAll(', ', '、');

const PATTERNS: [pattern: RegExp, translate: (parts: string[], languageName: LanguageName) => string][] = [
  [/^mean log-probability (.+)$/, ([value]) => `平均对数概率 ${value}`],
  [/^(.+%) of the attention on no word$/, ([share]) => `${share} 的注意力不在任何词上`],
  [/^(\d+) times in a row (.+)$/s, ([count, words]) => `“${words}”连续出现 ${count} 次`],
  [/^(\d+) times (.+)$/s, ([count, words]) => `“${words}”出现 ${count} 次`],
  [/^no word was generated$/, () => '没有译出任何词'],
  [/^(\d+) characters for (\d+)$/, ([translation, source]) => `原文 ${source} 个字符，译文 ${translation} 个字符`],
  [/^cut after (\d+) tokens$/, ([count]) => `在第 ${count} 个词元后截断`],
  [/^lost (.+); new (.+)$/s, ([lost = '', added = '']) => `丢失：${list(lost)}；多出：${list(added)}`],
  [/^lost (.+)$/s, ([lost = '']) => `丢失：${list(lost)}`],
  [/^new (.+)$/s, ([added = '']) => `多出：${list(added)}`],
  [/^confidence (.+), below (.+)$/, ([value, minimum]) => `置信度 ${value}，低于 ${minimum}`],
  [/^similarity (.+)$/, ([value]) => `相似度 ${value}`],
  [/^(\S+) instead of (\S+)$/, ([found = '', expected = ''], name) => `检测为${name(found)}，而不是${name(expected)}`],
];

/** Flags whose detail is text of the user or a list of its words. */
const QUOTED = new Set(['from-nothing', 'dropped']);

export function chineseFlagDetail(flag: string, detail: string, languageName: LanguageName): string {
  if (QUOTED.has(flag)) return flag === 'dropped' ? list(detail) : detail;
  for (const [pattern, translate] of PATTERNS) {
    const found = pattern.exec(detail);
    if (found) return translate(found.slice(1), languageName);
  }
  return detail;
}
