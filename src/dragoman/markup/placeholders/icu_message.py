"""Read ICU messages such as ``{n, plural, one {# file} other {# files}}``, and write them with other texts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from dragoman.text.characters import has_letters

_CHOICE = re.compile(r"\{\s*[\w.-]{1,100}\s*,\s*(plural|select|selectordinal)\s*,(?:\s*offset:\s*\d{1,9}(?=\s))?")
_BRANCH = re.compile(r"\s*(?:=\d{1,9}|[^\s{}=,#']{1,60})\s*\{")
_END = re.compile(r"\s*\}")
_QUOTED = re.compile(r"''|'[{}#|][^']{0,400}'")
_MAX_DEPTH, _MAX_TEXTS = 6, 24
_NUMBERS = {"zero": "0", "one": "1", "two": "2", "few": "3", "many": "11", "other": "5"}
"""A number that takes each form in most languages."""


@dataclass(frozen=True)
class _Choice:
    head: str
    is_plural: bool
    branches: tuple[tuple[str, _Nodes], ...]
    tail: str


_Nodes = list["str | _Choice"]


class Plural(NamedTuple):
    """A branch of a plural: the name of its number, and the form."""

    name: str
    form: str

    def swap(self, text: str) -> tuple[str, str, str]:
        """Return a text with a number of the form in place of its only count, the number and the count.

        Both are empty if nothing is replaced.
        """
        found = list(re.finditer(rf"#|\{{\s*{re.escape(self.name)}\s*(?:,\s*number\s*)?\}}", text))
        number = _NUMBERS.get(self.form, "")
        if len(found) != 1 or not number or number in text[: found[0].start()] + text[found[0].end() :]:
            return text, "", ""
        return text[: found[0].start()] + number + text[found[0].end() :], number, found[0][0]


def restore_count(text: str, number: str, count: str) -> str | None:
    """Return a translation with the placeholder in place of its number; None if the number is not once in it."""
    if not number:
        return text
    found = [*re.finditer(rf"(?<!\d){number}(?!\d)", text)]
    return text[: found[0].start()] + count + text[found[0].end() :] if len(found) == 1 else None


@dataclass(frozen=True)
class IcuMessage:
    """A message taken apart: `texts` are whole sentences, one per combination of branches.

    Text around a choice is moved into its branches: ``You have {n, plural, one {# file} other {# files}}.`` has the
    texts ``You have # file.`` and ``You have # files.`` `fragments` are the syntax around them, one more than the
    texts; `plurals` has the argument and the form of the innermost plural around each text.
    """

    texts: tuple[str, ...]
    plurals: tuple[Plural | None, ...]
    fragments: tuple[str, ...]

    def build(self, texts: list[str]) -> str:
        """Return the message with other texts; an apostrophe that would quote syntax is doubled."""
        parts = [self.fragments[0]]
        for source, text, fragment in zip(self.texts, texts, self.fragments[1:], strict=True):
            parts += [text if "'" in source else re.sub("'(?=[{}#|])", "''", text), fragment]
        return "".join(parts)


def has_icu_choice(text: str) -> bool:
    """Whether a text has a plural or select argument."""
    return "{" in text and _CHOICE.search(text) is not None


def parse_icu(text: str) -> IcuMessage | None:
    """Take a message apart; None if its syntax is wrong, or if it has too many combinations."""
    nodes, end = _parse(text, 0, 0)
    if nodes is None or end != len(text):
        return None
    pieces: list[str | tuple[str, Plural | None]] = []
    try:
        pieces = list(_pieces(nodes, None))
    except ValueError:
        return None
    texts = [each for each in pieces if isinstance(each, tuple)]
    if len(texts) > _MAX_TEXTS:
        return None
    fragments = [""]
    for each in pieces:
        if isinstance(each, tuple):
            fragments.append("")
        else:
            fragments[-1] += each
    return IcuMessage(tuple(text for text, _ in texts), tuple(plural for _, plural in texts), tuple(fragments))


def with_plural_forms(
    text: str,
    cardinal: tuple[str, ...],
    ordinal: tuple[str, ...],
    with_count: Callable[[str, str, str], str] | None = None,
) -> str:
    """Return a message whose plurals have the categories of another language, new ones as copies of ``other``.

    Branches for numbers (``=0``) stay. `with_count` makes a text for ``one`` that has the count, given one without it,
    the text of ``other`` and the count. A message that cannot be taken apart is returned unchanged.
    """
    nodes, end = _parse(text, 0, 0)
    return text if nodes is None or end != len(text) else _with_forms(nodes, cardinal, ordinal, with_count)


def _with_forms(
    nodes: _Nodes,
    cardinal: tuple[str, ...],
    ordinal: tuple[str, ...],
    with_count: Callable[[str, str, str], str] | None,
) -> str:
    parts: list[str] = []
    for node in nodes:
        if isinstance(node, str):
            parts.append(node)
            continue
        branches = [
            (head, head[:-1].strip(), _with_forms(inner, cardinal, ordinal, with_count))
            for head, inner in node.branches
        ]
        names = {name: (head, inner) for head, name, inner in branches}
        wanted = ordinal if "selectordinal" in node.head else cardinal
        if node.is_plural and "other" in names:
            head, inner = names["other"]
            if with_count is not None and wanted is cardinal:
                count = "#" if "#" in inner else f"{{{node.head[1:].partition(',')[0].strip()}}}"
                branches = [
                    (each, name, one if name != "one" or "{" in one or "#" in one else with_count(one, inner, count))
                    for each, name, one in branches
                ]
            new = [(head.replace("other", name), name, inner) for name in wanted if name not in names]
            kept = [each for each in branches if each[1][0] == "=" or each[1] in wanted]
            place = next(at for at, each in enumerate(kept) if each[1] == "other")
            branches = [*kept[:place], *new, *kept[place:]]
        parts += [node.head, *(f"{head}{inner}}}" for head, _, inner in branches), node.tail]
    return "".join(parts)


def _parse(text: str, at: int, depth: int) -> tuple[_Nodes | None, int]:
    """Return the text and choices from a position to the end of its branch, and the position of that end."""
    nodes: _Nodes = []
    start, braces = at, 0
    while at < len(text):
        char = text[at]
        if char == "'" and (quoted := _QUOTED.match(text, at)):
            at = quoted.end()
        elif char == "{" and (choice := _CHOICE.match(text, at)):
            nodes.append(text[start:at])
            found, at = _parse_choice(text, choice, depth)
            if found is None:
                return None, at
            nodes.append(found)
            start = at
        elif char == "}" and not braces:
            break
        else:
            braces += (char == "{") - (char == "}")
            at += 1
    if braces or (depth == 0 and at < len(text)):
        return None, at
    return [*nodes, text[start:at]], at


def _parse_choice(text: str, choice: re.Match[str], depth: int) -> tuple[_Choice | None, int]:
    at = choice.end()
    branches: list[tuple[str, _Nodes]] = []
    while branch := _BRANCH.match(text, at):
        nodes, at = _parse(text, branch.end(), depth + 1) if depth < _MAX_DEPTH else (None, at)
        if nodes is None or text[at : at + 1] != "}":
            return None, at
        branches.append((branch[0], nodes))
        at += 1
    end = _END.match(text, at)
    if end is None or not branches:
        return None, at
    return _Choice(choice[0], choice[1] != "select", tuple(branches), end[0]), end.end()


def _pieces(nodes: _Nodes, plural: Plural | None, count: int = 1) -> Iterator[str | tuple[str, Plural | None]]:
    """Yield syntax, and texts with the plural that they are in; raise `ValueError` if they cannot be separated."""
    place = next((place for place, node in enumerate(nodes) if isinstance(node, _Choice)), None)
    if place is None:
        text = "".join(str(node) for node in nodes)
        bare = text.strip()
        lead = text[: len(text) - len(text.lstrip())]
        yield lead
        yield bare, plural
        yield text[len(lead) + len(bare) :]
        return
    choice, before, after = nodes[place], nodes[:place], nodes[place + 1 :]
    assert isinstance(choice, _Choice)
    if (count := count * len(choice.branches)) > _MAX_TEXTS:
        raise ValueError("too many combinations")
    around = [each for each in (*before, *after) if isinstance(each, str)]
    has_words = len(around) < len(before) + len(after) or any(map(has_letters, around))
    if has_words and choice.is_plural and any("#" in each for each in around):
        raise ValueError("# would become another number")
    name = choice.head[1:].partition(",")[0].strip()
    if not has_words:
        yield "".join(str(each) for each in before)
    yield choice.head
    for head, branch in choice.branches:
        yield head
        inner = Plural(name, head[:-1].strip()) if choice.is_plural else plural
        yield from _pieces([*before, *branch, *after] if has_words else branch, inner, count)
        yield "}"
    yield choice.tail
    if not has_words:
        yield "".join(str(each) for each in after)
