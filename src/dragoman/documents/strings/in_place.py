"""Update a translated file of strings in place: its order, comments and other strings stay."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from difflib import SequenceMatcher
from itertools import pairwise

from dragoman.documents.strings.document import StringsDocument
from dragoman.documents.strings.scan import StringUnit
from dragoman.documents.text.text_file import TextEdits

_WORD = re.compile(r"\w+")
_COMMENT = re.compile(r"#|//|/\*|<!--|^[ \t]*!", re.MULTILINE)
_COMMENT_LINE = re.compile(r"\s*(?:(?:#|!|//).*|/\*.*\*/\s*|<!--.*-->\s*)?", re.DOTALL)
_TRAILING = re.compile(r"(?:#|//|/\*|<!--).*", re.DOTALL)
_REST = re.compile(r"[^\r\n]*(?:\r\n|\n|\r|\Z)")


def merge_strings(old: StringsDocument, new: StringsDocument, unused: Collection[str]) -> str:
    """Return the text of a translated file with the strings that only the `new` file has, without the `unused` ones.

    The new file has the structure of the source. New strings stand after the string that precedes them there. Unused
    strings are removed only if nothing else is lost with them, such as a comment. Where the files differ much, strings
    may be left out: the caller has to read the result and compare it.
    """
    return _Merger(old, new, unused).merged()


class _Merger:
    def __init__(self, old: StringsDocument, new: StringsDocument, unused: Collection[str]) -> None:
        self._old, self._new, self._unused = old.text, new.text, unused
        self._old_units, self._new_units = old.members(), new.members()
        self._edits = TextEdits(self._old)

    def merged(self) -> str:
        common = [key for key in self._new_units if key in self._old_units]
        following = dict(pairwise([None, *(key for key in self._old_units if key in self._new_units), None]))
        new_after, old_after = (self._runs(units, {*common}) for units in (self._new_units, self._old_units))
        for before, after in pairwise([None, *common, None]):
            new, others = new_after[before], old_after[before]
            is_end = after is None and following[before] is not None  # strings of the file are in another order
            if is_end:
                others = [*self._old_units]
            kept = [place for place, key in enumerate(others) if key not in self._unused]
            gone = others[kept[-1] + 1 :] if kept else others
            last = others[kept[-1]] if kept else before
            start = self._old_units[last].end if last else 0
            if new and before and self._are_siblings(before, new):
                self._insert(before, new)
            elif (new or gone) and (is_end or following[before] == after) and (before or not kept):
                self._merge_gap(start, before, after, gone, has_new=bool(new))
        return self._edits.joined()

    @staticmethod
    def _runs(units: Mapping[str, StringUnit], anchors: set[str]) -> dict[str | None, list[str]]:
        """Return the keys after each anchor, or after the start, up to the next one."""
        runs: dict[str | None, list[str]] = {None: []}
        last: str | None = None
        for key in units:
            if key in anchors:
                last = key
                runs[last] = []
            else:
                runs[last].append(key)
        return runs

    def _are_siblings(self, before: str, keys: list[str]) -> bool:
        """Whether strings of the new file, one after another, are on one level, so that none begins or ends there."""
        units = [self._new_units[key] for key in (before, *keys)]
        levels = {units[0].key.rpartition(".")[0]}
        for last, unit in pairwise(units):
            is_flat = "." in unit.key and unit.key in self._new[last.end : unit.start]  # a name with full stops
            levels.add(units[0].key.rpartition(".")[0] if is_flat else unit.key.rpartition(".")[0])
        return len(levels) == 1

    def _merge_gap(self, start: int, before: str | None, after: str | None, gone: list[str], *, has_new: bool) -> None:
        """Replace the text between two strings by that of the new file, if only unused strings are lost."""
        end = self._old_units[after].start if after else len(self._old)
        begin = self._new_units[before].end if before else 0
        gap = self._new[begin : self._new_units[after].start if after else len(self._new)]
        if self._is_kept(start, end, gone, gap):
            self._edits.replace(start, end, gap)
        elif has_new:
            first = "" if before else "\n"  # otherwise the first lines end the string before
            union = _with_comments(first + self._old[start:end], first + gap)
            self._edits.replace(start, end, union[len(first) :] or self._old[start:end])

    def _is_kept(self, start: int, end: int, gone: list[str], gap: str) -> bool:
        """Whether all words and comments between two strings are also in the text that replaces it."""
        fragments = []
        for key in gone:
            fragments.append(self._old[start : self._old_units[key].start])
            start = self._old_units[key].end
        old = " ".join([*fragments, self._old[start:end]])
        names = {word for key in gone for word in (*_WORD.findall(key), *_WORD.findall(self._old_units[key].key))}
        is_known = {*_WORD.findall(old)} <= {*_WORD.findall(gap)} | names
        return is_known and len(_COMMENT.findall(old)) <= len(_COMMENT.findall(gap))

    def _insert(self, before: str, keys: list[str]) -> None:
        """Insert strings after another one of their level, with what precedes them in the new file.

        What follows the other one in its line then follows them, unless it is a comment.
        """
        at, start, end = self._old_units[before].end, self._new_units[before].end, self._new_units[keys[-1]].end
        rest = _REST.match(self._old, at)
        assert rest is not None
        if _COMMENT.search(rest[0]) and rest[0].endswith(("\r", "\n")):
            skipped, last = _REST.match(self._new, start), _REST.match(self._new, end)
            assert skipped is not None
            assert last is not None
            at, start, end = rest.end(), skipped.end(), last.end()
        old, new = _indent(self._old, self._old_units[before]), _indent(self._new, self._new_units[before])
        first = "\n" if at == rest.end() else ""
        added = re.sub(rf"(?<=\n){new}(?=[^\r\n])", old, first + self._new[start:end]) if old != new else ""
        self._edits.replace(at, at, added[len(first) :] or self._new[start:end])


def _indent(text: str, unit: StringUnit) -> str:
    line = text[text.rfind("\n", 0, unit.start) + 1 : unit.start]
    return line[: len(line) - len(line.lstrip())]


def _with_comments(old: str, new: str) -> str:
    """Return a text with the lines of another one that are comments; empty if that has other lines of its own."""
    lines = [text.splitlines(keepends=True) for text in (old, new)]
    if not all(lines) or _TRAILING.sub("", lines[0][0]).strip() != lines[1][0].strip():
        return ""
    merged = [lines[0][0]]
    bare = [["".join(line.split()) for line in each[1:]] for each in lines]
    for kind, first, last, begin, end in SequenceMatcher(None, bare[0], bare[1], autojunk=False).get_opcodes():
        own = lines[0][first + 1 : last + 1]
        if kind == "equal":
            merged += own
            continue
        own = [line for line in own if line.strip()]
        if not all(map(_COMMENT_LINE.fullmatch, own)):
            return ""
        merged += lines[1][begin + 1 : end + 1] + own
    return "".join(merged)
