"""Search in English and Chinese: English words are stemmed, Chinese characters are indexed one by one and in twos."""

from __future__ import annotations

import re

from sphinx.search.en import SearchEnglish

_PARTS = re.compile(r"[\u3400-\u9fff]+|[^\W\u3400-\u9fff]+")


class SearchEnglishAndChinese(SearchEnglish):
    """Sphinx's search of English words with Chinese words of one or two characters."""

    js_splitter_code = r"""
function splitQuery(query) {
  const found = [];
  for (const part of query.match(/[\u3400-\u9fff]+|[^\s\u3400-\u9fff!-\/:-@\[-^`{-~]+/g) || []) {
    if (part.charCodeAt(0) < 0x3400 || part.charCodeAt(0) > 0x9fff || part.length < 2) found.push(part);
    else for (let i = 0; i + 1 < part.length; i++) found.push(part.slice(i, i + 2));
  }
  return found;
}
"""

    def split(self, input: str) -> list[str]:  # noqa: A002 -- Sphinx passes this name
        """Return the words of a text."""
        found = []
        for part in _PARTS.findall(input):
            if "\u3400" <= part[0] <= "\u9fff":
                found += [*part, *(part[i : i + 2] for i in range(len(part) - 1))]
            else:
                found.append(part)
        return found

    def word_filter(self, word: str) -> bool:
        """Return whether a word is indexed; Chinese words may be short."""
        return "\u3400" <= word[0] <= "\u9fff" or super().word_filter(word)
