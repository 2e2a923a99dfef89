"""Guess the encoding of text that is not UTF-8, from many lines together, and name the command that converts it."""

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from math import inf
from pathlib import PurePath
from typing import NamedTuple

_MAX_LINES = 2000
_MAX_BYTES = 1 << 16
_ASCII, _DAMAGED, _UNLIKELY = -3.0, -15.0, -5.2  # log-likelihoods: of a character, and the least per byte outside ASCII
_FOREIGN = 0.9  # share of the lines outside ASCII that are not UTF-8, in a file in another encoding
_ENOUGH_LINES = 10


class _Script(NamedTuple):
    """Log-likelihoods of a frequent and of another character; the range of the share of letters outside ASCII."""

    frequent: float
    other: float
    shares: tuple[float, float] = (0.0, 1.0)


_LATIN = _Script(-3.5, -7.0, (0.0, 0.4))
_ALPHABET = _Script(-3.5, -7.0, (0.25, 1.0))
_TWO_BYTES = _Script(-5.5, -9.7)


class _Candidate(NamedTuple):
    """An encoding: its names for iconv and for Python, its script, and frequent characters of its languages."""

    iconv: str
    codec: str
    script: _Script
    frequent: str


_KANA = "のにはをたがでとしれさあるいもなこよらりてっかまきくけすせそつうえおだじどんー。、アイウスクトルンラリ"
_SIMPLIFIED = (
    "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里用道行所然家种事"
    "成方多经么去法学如都同现当没动面起看定天分还进好小部其些主样理心她本前开但因只从想实，。、；：？！“”《》（）"
)
_TRADITIONAL = (
    "的一是不了在人有我他這個們中來上大為和國地到以說時要就出會可也你對生能而子那得於著下自之年過發後作裡用道行所然家種事"
    "成方多經麼去法學如都同現當沒動面起看定天分還進好小部其些主樣理心她本前開但因只從想實，。、；：？！「」《》（）"
)
_HANGUL = "이다는을의에가하고지를한로으은도나기사어자그서인리들해대있수것일아정시제부보전게스라면만장주원국상연여구비안"
_CYRILLIC = "оеаинтсрвлкмдпуяыьгзбчйхжшюцщэфіїєўґ"
_CANDIDATES = (
    _Candidate("WINDOWS-1252", "cp1252", _LATIN, "äöüßÄÖÜéèêëàâçñóòôõíìîïáãåúùûøæœÉÀ’‘“”«»–—…€£°§¿¡"),
    _Candidate("WINDOWS-1254", "cp1254", _LATIN, "çğıöşüâîİÇŞÜÖ’“”"),
    _Candidate("WINDOWS-1250", "cp1250", _LATIN, "ąćęłńóśźżáčďéěíňřšťúůýžöüőűăâîşţđ„”“’–…"),
    _Candidate("ISO-8859-2", "iso8859-2", _LATIN, "ąćęłńóśźżáčďéěíňřšťúůýžöüőűăâîşţđ"),
    _Candidate("GB18030", "gb18030", _TWO_BYTES, _SIMPLIFIED),
    _Candidate("BIG5", "big5hkscs", _TWO_BYTES, _TRADITIONAL),
    _Candidate("CP932", "cp932", _TWO_BYTES, _KANA),
    _Candidate("EUC-JP", "euc_jp", _TWO_BYTES, _KANA),
    _Candidate("CP949", "cp949", _TWO_BYTES, _HANGUL),
    _Candidate("WINDOWS-1251", "cp1251", _ALPHABET, _CYRILLIC),
    _Candidate("KOI8-R", "koi8_r", _ALPHABET, _CYRILLIC),
    _Candidate("WINDOWS-1253", "cp1253", _ALPHABET, "αεηιοτσνκρπλμυςάέήίόύώγδθχωφβ"),
    _Candidate("WINDOWS-1255", "cp1255", _ALPHABET, "יולהמראתבשנעדחקפגסצכטזםן"),
    _Candidate("WINDOWS-1256", "cp1256", _ALPHABET, "اليمونرتبعدسفهكقحجةىشأخصط،"),
)


def guess_encoding(lines: Iterable[bytes]) -> str:
    """Return the name for iconv of the encoding of lines that are not UTF-8; empty if none is likely."""
    data = b"\n".join(islice(lines, _MAX_LINES))[:_MAX_BYTES]
    scores = {each.iconv: _log_likelihood(data, each) for each in _CANDIDATES}
    best = max(scores, key=lambda name: scores[name])
    return best if scores[best] >= _UNLIKELY else ""


def _log_likelihood(data: bytes, candidate: _Candidate) -> float:
    """Return the log-likelihood per byte outside ASCII."""
    text, script = data.decode(candidate.codec, "replace"), candidate.script
    counts = Counter(text)
    letters = {each: count for each, count in counts.items() if each.isalpha()}
    share = sum(count for each, count in letters.items() if not each.isascii()) / max(1, sum(letters.values()))
    if not data or data.isascii() or not script.shares[0] <= share <= script.shares[1]:
        return -inf
    frequent = set(candidate.frequent)
    total = 0.0
    for character, count in counts.items():
        if character.isascii():
            each = _ASCII
        elif character == "\ufffd":
            each = _DAMAGED
        else:
            each = script.frequent if character in frequent else script.other
        total += count * each
    ascii_bytes = sum(byte < 0x80 for byte in data)
    return (total - _ASCII * ascii_bytes) / (len(data) - ascii_bytes)


def foreign_encoding(lines: Iterable[bytes]) -> str:
    """Return the encoding of text that is not UTF-8 as a whole; empty for UTF-8 with bad lines, or if unknown."""
    count = outside = 0
    bad: list[bytes] = []
    zeros, size = [0, 0], 0
    for line in lines:
        count += 1
        zeros = [total + line[parity::2].count(0) for parity, total in zip(_parities(size), zeros, strict=True)]
        size += len(line) + 1
        if not line.isascii():
            outside += 1
            bad += [] if _is_utf8(line) else [line]
    if 4 * sum(zeros) > size:
        return "UTF-16BE" if zeros[0] > zeros[1] else "UTF-16LE"
    if len(bad) < max(1, _FOREIGN * outside) or (len(bad) < _ENOUGH_LINES and 2 * len(bad) < count):
        return ""
    return guess_encoding(bad)


def _parities(size: int) -> Iterator[int]:
    """Yield where the bytes at even and at odd positions of a text begin in a line at position `size`."""
    yield size % 2
    yield 1 - size % 2


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def conversion_command(file: str, encoding: str) -> str:
    """Return a command that converts a file, compressed or not, to UTF-8 in a new file next to it."""
    path = PurePath(file)
    unpack = {".gz": "gzip", ".xz": "xz", ".zst": "zstd"}.get(path.suffix.lower())
    plain = path.with_suffix("") if unpack else path
    new = shlex.quote(str(plain.with_name(f"{plain.stem}.utf8{plain.suffix}")))
    if unpack:
        return f"{unpack} -dc {shlex.quote(file)} | iconv -f {encoding} -t UTF-8 > {new}"
    return f"iconv -f {encoding} -t UTF-8 {shlex.quote(file)} > {new}"
