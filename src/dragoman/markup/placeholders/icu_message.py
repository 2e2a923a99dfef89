"""Read ICU messages such as ``{n, plural, one {# file} other {# files}}``, and write them with other texts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from dragoman.text.characters import has_letters

_CHOICE = re.compile(r"\{\s*[\w.-]{1,100}\s*,\s*(plural|select|selectordinal)\s*,(?:\s*offset:\s*\d{1,9}(?=\s))?")
_BRANCH = re.compile(r"\s*(?:=\d{1,9}|[^\s{}=,#']{1,60})\s*\{")
_END = re.compile(r"\s*\}")
_QUOTED = re.compile(r"''|'[{}#|][^']{0,400}'")
_MAX_DEPTH, _MAX_TEXTS = 6, 24


@dataclass(frozen=True)
class _Choice:
    head: str
    is_plural: bool
    branches: tuple[tuple[str, _Nodes], ...]
    tail: str


_Nodes = list["str | _Choice"]


@dataclass(frozen=True)
class IcuMessage:
    """A message taken apart: `texts` are whole sentences, one per combination of branches.

    Text around a choice is moved into its branches: ``You have {n, plural, one {# file} other {# files}}.`` has the
    texts ``You have # file.`` and ``You have # files.`` `fragments` are the syntax around them, one more than the
    texts; `in_plural` tells whether ``#`` is a number.
    """

    texts: tuple[str, ...]
    in_plural: tuple[bool, ...]
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
    pieces: list[str | tuple[str, bool]] = []
    try:
        pieces = list(_pieces(nodes, is_plural=False))
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
    return IcuMessage(tuple(text for text, _ in texts), tuple(flag for _, flag in texts), tuple(fragments))


def with_plural_forms(text: str, cardinal: tuple[str, ...], ordinal: tuple[str, ...]) -> str:
    """Return a message whose plurals have the categories of another language, new ones as copies of ``other``.

    Branches for numbers (``=0``) stay. A message that cannot be taken apart is returned unchanged.
    """
    nodes, end = _parse(text, 0, 0)
    return text if nodes is None or end != len(text) else _with_forms(nodes, cardinal, ordinal)


def _with_forms(nodes: _Nodes, cardinal: tuple[str, ...], ordinal: tuple[str, ...]) -> str:
    parts: list[str] = []
    for node in nodes:
        if isinstance(node, str):
            parts.append(node)
            continue
        branches = [(head, head[:-1].strip(), _with_forms(inner, cardinal, ordinal)) for head, inner in node.branches]
        names = {name: (head, inner) for head, name, inner in branches}
        wanted = ordinal if "selectordinal" in node.head else cardinal
        if node.is_plural and "other" in names:
            head, inner = names["other"]
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


def _pieces(nodes: _Nodes, *, is_plural: bool, count: int = 1) -> Iterator[str | tuple[str, bool]]:
    """Yield syntax, and texts with whether they are in a plural; raise `ValueError` if they cannot be separated."""
    place = next((place for place, node in enumerate(nodes) if isinstance(node, _Choice)), None)
    if place is None:
        text = "".join(str(node) for node in nodes)
        bare = text.strip()
        lead = text[: len(text) - len(text.lstrip())]
        yield lead
        yield bare, is_plural
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
    inner = is_plural or choice.is_plural
    if not has_words:
        yield "".join(str(each) for each in before)
    yield choice.head
    for head, branch in choice.branches:
        yield head
        yield from _pieces([*before, *branch, *after] if has_words else branch, is_plural=inner, count=count)
        yield "}"
    yield choice.tail
    if not has_words:
        yield "".join(str(each) for each in after)
