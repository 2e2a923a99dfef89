from pathlib import Path

import numpy as np
import pytest

from dragoman.data.readers.formats.line_pairs import AlignmentBreak, explain_mismatch, find_break
from dragoman.data.readers.shifted_lines import logarithms

Side = list[bytes]


def sides(count: int, seed: int = 0) -> tuple[Side, Side]:
    chance = np.random.default_rng(seed)
    source = chance.lognormal(4.6, 0.7, count)
    target = source * chance.lognormal(-0.1, 0.25, count)
    return [b"x" * int(length) for length in source], [b"y" * int(length) for length in target]


def write(folder: Path, source: Side, target: Side) -> tuple[str, str]:
    names = str(folder / "a.de"), str(folder / "a.en")
    for name, lines in zip(names, (source, target), strict=True):
        Path(name).write_bytes(b"".join(line + b"\n" for line in lines))
    return names


def search(source: Side, target: Side) -> AlignmentBreak | None:
    return find_break(*(logarithms(np.array(list(map(len, side)))) for side in (source, target)))


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize(("place", "lost"), [(200, 1), (987, 1), (999, 2), (1500, 3), (2600, 1), (2000, 7), (1700, 50)])
def test_the_place_is_found(place: int, lost: int, side: int):
    pair = sides(3000)
    del pair[side][place : place + lost]
    found = search(*pair)
    assert found is not None
    assert found.shift == (lost if side == 0 else -lost)
    assert abs(found.line - (place + 1)) < 30


def test_the_first_of_several_places_is_found():
    source, target = sides(5000)
    del target[3000], target[1000]
    found = search(source, target)
    assert found is not None
    assert abs(found.line - 1001) < 30


def test_a_place_near_the_end_is_found():
    source, target = sides(1000)
    del target[980]
    found = search(source, target)
    assert found is not None
    assert abs(found.line - 981) < 15


@pytest.mark.parametrize("lost", [1, 500, 1500])
def test_an_end_that_is_missing_shows_no_place(tmp_path: Path, lost: int):
    source, target = sides(2000)
    assert search(source, target[:-lost]) is None
    names = write(tmp_path, source, target[:-lost])
    message = explain_mismatch(*names, (2000, 2000 - lost))
    assert message.endswith(f"do not show where: the last lines of {names[1]} may be missing, or others")


def test_the_message_says_which_side_lacks_lines(tmp_path: Path):
    source, target = sides(2000)
    del source[1000:1002]
    names = write(tmp_path, source, target)
    message = explain_mismatch(*names, (1998, 2000))
    assert "got 1,998 and 2,000" in message
    assert f"lengths of lines, 2 lines may be missing in {names[0]}, or too many in {names[1]}, at about" in message
