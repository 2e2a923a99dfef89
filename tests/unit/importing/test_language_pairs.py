"""Languages in the names of files, folders and models."""

import pytest

from dragoman.importing.language_tokens import find_pair


@pytest.mark.parametrize(
    ("name", "pair"),
    [
        ("model.enpt.intgemm.alphas.bin", ("en", "pt")),
        ("model.ptde.intgemm8.bin.zst", ("pt", "de")),
        ("model.enzh.intgemm.alphas.bin.gz", ("en", "zh")),
        ("model.enzh_hant.intgemm.alphas.bin", ("en", "zh-Hant")),
        ("model.zh_hanten.intgemm.alphas.bin", ("zh-Hant", "en")),
        ("model.hbsen.intgemm.alphas.bin", ("sh", "en")),
        ("model.enhbs.intgemm.alphas.bin", ("en", "sh")),
        ("model.pt_bren.intgemm.alphas.bin", ("pt-BR", "en")),
        ("model.sq-en.spm", ("sq", "en")),
        ("translate-zh_hant-en-v1.0-hplt", ("zh-Hant", "en")),
        ("opus-mt-tc-big-en-pt", ("en", "pt")),
        ("opus-mt-en-roa", ("en", "roa")),
        ("eng-deu", ("en", "de")),
        ("model.intgemm.alphas.bin", ("", "")),
        ("model.npz.best-chrf.npz", ("", "")),
        ("opus-mt-en-ROMANCE", ("", "")),
        ("model.xxyy.bin", ("", "")),
        ("model.ptast.bin", ("", "")),  # pt + ast, or pta + st
    ],
)
def test_the_languages_of_a_name(name: str, pair: tuple[str, str]):
    assert find_pair(name) == pair


def test_the_first_name_with_two_languages_counts():
    assert find_pair("model.bin", "opus-mt-en-de", "en-fr") == ("en", "de")
    assert find_pair() == ("", "")
