"""Encodings other than UTF-8 are recognised from the text, and files with a few bad lines are not."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pytest

from dragoman.text.encoding_guess import conversion_command, foreign_encoding, guess_encoding

TEXTS = [
    ("人人生而自由,在尊严和权利上一律平等。他们赋有理性和良心。", "gb18030", "GB18030"),
    ("人人生而自由，在尊嚴和權利上一律平等。他們賦有理性和良心。", "big5", "BIG5"),
    ("吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。", "cp932", "CP932"),
    ("吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。", "euc_jp", "EUC-JP"),
    ("모든 국민은 법 앞에 평등하다. 누구든지 성별에 의하여 차별을 받지 아니한다.", "cp949", "CP949"),
    ("Все люди рождаются свободными и равными в своём достоинстве и правах.", "cp1251", "WINDOWS-1251"),
    ("Все люди рождаются свободными и равными в своём достоинстве и правах.", "koi8_r", "KOI8-R"),
    ("Alle Menschen sind frei und gleich an Würde und Rechten geboren. Schöne Grüße!", "cp1252", "WINDOWS-1252"),
    ("¿Qué pasó ayer por la mañana? El señor compró un camión.", "cp1252", "WINDOWS-1252"),
    ("Wszyscy ludzie rodzą się wolni i równi pod względem swej godności.", "cp1250", "WINDOWS-1250"),
    ("Wszyscy ludzie rodzą się wolni i równi pod względem swej godności.", "iso8859-2", "ISO-8859-2"),
    ("Bütün insanlar hür, haysiyet ve haklar bakımından eşit doğarlar.", "cp1254", "WINDOWS-1254"),
    ("Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια.", "cp1253", "WINDOWS-1253"),
    ("כל בני האדם נולדו בני חורין ושווים בערכם ובזכויותיהם.", "cp1255", "WINDOWS-1255"),
    ("يولد جميع الناس أحرارا ومتساوين في الكرامة والحقوق.", "cp1256", "WINDOWS-1256"),
]


@pytest.mark.parametrize(("text", "codec", "name"), TEXTS, ids=[f"{name} {text[:9]}" for text, _, name in TEXTS])
def test_an_encoding_is_recognised(text: str, codec: str, name: str):
    assert guess_encoding([text.encode(codec)]) == name
    assert foreign_encoding([text.encode(codec)] * 3) == name
    assert foreign_encoding([b"an English sentence, then a tab\t" + text.encode(codec)] * 3) == name


def test_random_bytes_have_no_encoding():
    draw = random.Random(1)
    lines = [draw.randbytes(200) for _ in range(5)]
    assert guess_encoding(lines) == ""
    assert guess_encoding([]) == ""


def test_a_few_bad_lines_are_no_other_encoding():
    good, bad = "Schöne Grüße".encode(), "Schöne Grüße".encode("cp1252")
    assert foreign_encoding([good] * 9) == ""
    assert foreign_encoding([b"plain"] * 9) == ""
    assert foreign_encoding([good] * 20 + [bad] * 10) == "", "UTF-8 with bad lines"
    assert foreign_encoding([b"plain"] * 20 + [bad] * 5) == "", "too few lines to decide"
    assert foreign_encoding([b"plain"] * 20 + [bad] * 10) == "WINDOWS-1252"
    assert foreign_encoding([]) == ""


@pytest.mark.parametrize("name", ["UTF-16LE", "UTF-16BE"])
def test_utf_16_without_its_mark(name: str):
    assert foreign_encoding("A line.\nAnother one.\n".encode(name).split(b"\n")) == name


def test_the_command_converts_the_file(tmp_path: Path):
    text = "".join(f"{line}\n" for line in ("他们在这里", "中国"))
    path = tmp_path / "my train.zh"
    path.write_bytes(text.encode("gb18030"))
    subprocess.run(conversion_command(str(path), "GB18030"), shell=True, check=True)
    assert (tmp_path / "my train.utf8.zh").read_text(encoding="utf-8") == text
    subprocess.run(["gzip", str(path)], check=True)
    (tmp_path / "my train.utf8.zh").unlink()
    subprocess.run(conversion_command(f"{path}.gz", "GB18030"), shell=True, check=True)
    assert (tmp_path / "my train.utf8.zh").read_text(encoding="utf-8") == text
