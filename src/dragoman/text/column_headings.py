"""Recognise the first row of a table that names its columns."""

import re
from collections.abc import Sequence

# Usual column names; a cell that consists of these and language codes is a heading.
_HEADING = re.compile(
    "column|content|input|lang|language|original|output|ref|reference|segment|sentences?|side|source|src|string|target|"
    "terms?|text|tgt|translated|translation|trg|value|[12]|"
    "arabic|chinese|czech|danish|dutch|english|finnish|french|german|greek|hebrew|hindi|hungarian|indonesian|italian|"
    "japanese|korean|norwegian|persian|polish|portuguese|romanian|russian|spanish|swedish|thai|turkish|ukrainian|"
    "vietnamese|deutsch|español|français|italiano|português|polski|русский|українська|中文|日本語|한국어"
)


def is_heading(cell: str, languages: Sequence[str] = ()) -> bool:
    """Return whether a cell consists of usual column names, names of languages, and codes of these languages."""
    words = re.findall(r"\w+", cell.lower().replace("_", " "))
    codes = {code for language in languages for code in re.split("[-_]", language.lower())}
    return bool(words) and all(word in codes or _HEADING.fullmatch(word) for word in words)
