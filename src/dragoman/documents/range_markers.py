"""Recognize pairs of empty elements that mark the start and the end of a range, such as a bookmark."""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

_STARTS = {"bx": "x", "bpt": "pt", "sc": "c", "sm": "m", "annotation": "annotation"}
_ENDS = {"ex": "x", "ept": "pt", "ec": "c", "em": "m"}
"""Elements of XLIFF, TMX and OpenDocument by kind of range."""
_EDGE = re.compile(r"([A-Za-z-]+?)-?(start|end)", re.IGNORECASE)  # bookmark-start, commentRangeEnd
_ISOLATED = {"begin": True, "open": True, "end": False, "close": False}  # position of ``it``, in TMX and XLIFF 1.2
_REFERENCES = ("startRef", "rid", "i", "x", "change-id", "id", "name")
"""Attributes that both markers of a range have in common; `startRef` names the `id` of the start."""


class RangeMarker(NamedTuple):
    """Start or end of a range; both have the same key."""

    key: tuple[str, str]
    is_start: bool


class PlacedMarker(NamedTuple):
    """A marker, its place in the order of a text, and the innermost tag around it."""

    marker: RangeMarker
    place: int
    parent: int


def range_marker(element: Any) -> RangeMarker | None:
    """Return what an XML element marks; None if it is no marker, or nothing names its range."""
    name = element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""
    if name in _STARTS or name in _ENDS:
        kind, is_start = _STARTS.get(name) or _ENDS[name], name in _STARTS
    elif name == "it" and element.get("pos") in _ISOLATED:
        kind, is_start = name, _ISOLATED[element.get("pos")]
    elif edge := _EDGE.fullmatch(name):
        kind, is_start = edge[1], edge[2].lower() == "start"
    else:
        return None
    attributes = {key.rpartition("}")[2]: value for key, value in element.attrib.items()}
    reference = next((attributes[key] for key in _REFERENCES if key in attributes), None)
    return None if reference is None else RangeMarker((kind, reference), is_start)


def nested_pairs(markers: Sequence[PlacedMarker]) -> tuple[dict[int, int], set[int]]:
    """Return the place of the end by that of the start, or the places of all pairs if one crosses another or a tag.

    Crossing pairs cannot be spans. The others then are none either, so that all keep their order.
    """
    open_: dict[tuple[str, str], PlacedMarker] = {}
    pairs: list[tuple[PlacedMarker, PlacedMarker]] = []
    for each in markers:
        if each.marker.is_start:
            open_.setdefault(each.marker.key, each)
        elif start := open_.pop(each.marker.key, None):
            pairs.append((start, each))
    pairs.sort(key=lambda pair: pair[0].place)
    ends: list[int] = []  # of the pairs around a place
    for start, end in pairs:
        while ends and ends[-1] < start.place:
            ends.pop()
        if start.parent != end.parent or (ends and ends[-1] < end.place):
            return {}, {each.place for pair in pairs for each in pair}
        ends.append(end.place)
    return {start.place: end.place for start, end in pairs}, set()
