"""A new project: a configuration that loads, names the right files and fits the size of the corpus."""

import gzip
import re
from pathlib import Path

import pytest

from dragoman.api.training.preparation import prepare_corpora
from dragoman.config import load_config
from dragoman.data import corpus_survey, project_template
from dragoman.data.corpus_survey import CorpusSurvey, survey_corpus
from dragoman.data.loader import BatchLoader
from dragoman.data.project_template import _splits, new_project
from dragoman.errors import ConfigError, DataError
from dragoman.importing.import_model import import_model
from testkit.random_models.random_m2m100 import SHAPES, write_folder
from tests.unit.data.preparation.corpus import pairs, write_pairs
from tests.unit.data.preparation.test_start_tokenizer import bundle


def test_the_configuration_loads_and_names_the_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    write_pairs(tmp_path, "train", pairs(100))
    write_pairs(tmp_path / "p", "val", pairs(10))
    made = new_project(
        Path("p"),
        source="en",
        target="de",
        train=["train.en", "train.de"],
        validation=["p/val.en", "p/val.de"],
        test=["p/val.en", "p/val.de"],
    )
    assert (made.pairs, made.base, made.is_exact) == (100, "the preset pairs-5k", True)
    data = load_config(made.config).data
    assert data is not None
    assert data.train[0].files == [str(tmp_path / "train.en"), str(tmp_path / "train.de")], "outside: by its full path"
    assert data.validation is not None
    assert data.validation.files == ["val.en", "val.de"], "inside: so that the folder can be moved"
    assert data.test[0].files == ["val.en", "val.de"]
    assert "every setting" in made.config.read_text(encoding="utf-8").lower()


def test_paths_are_written_without_detours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    write_pairs(tmp_path, "train", pairs(100))
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    made = new_project(Path("../p"), source="en", target="de", train=["../train.en", "../train.de"])
    data = load_config(made.config).data
    assert data is not None
    assert data.train[0].files == [str(tmp_path.resolve() / name) for name in ("train.en", "train.de")]


def test_without_a_validation_set_some_pairs_are_taken(tmp_path: Path):
    files = [str(tmp_path / name) for name in write_pairs(tmp_path, "train", pairs(400))]
    made = new_project(tmp_path / "p", source="en", target="de", train=files)
    data = load_config(made.config).data
    assert data is not None
    assert data.validation_pairs == 20


@pytest.mark.parametrize(
    ("count", "preset"),
    [(14_999, "pairs-5k"), (15_000, "pairs-30k"), (80_000, "pairs-200k"), (1_500_000, "pairs-5m")],
)
def test_the_preset_fits_the_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int, preset: str):
    files = [str(tmp_path / name) for name in write_pairs(tmp_path, "train", pairs(10))]
    monkeypatch.setattr(project_template, "survey_corpus", lambda *_: CorpusSurvey(pairs=count))
    made = new_project(tmp_path / "p", source="en", target="de", train=files)
    assert made.base == f"the preset {preset}"
    full = load_config(made.config).training
    shorter = re.sub(r"(?m)^# (?=\[training\]|max_updates)", "", made.config.read_text(encoding="utf-8"))
    made.config.write_text(shorter, encoding="utf-8")
    assert full.warmup_updates < load_config(made.config).training.max_updates < full.max_updates


def test_very_large_corpora_are_not_counted_to_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(corpus_survey, "_COUNT_AT_MOST", 50)
    files = [str(tmp_path / name) for name in write_pairs(tmp_path, "train", pairs(100))]
    assert not new_project(tmp_path / "p", source="en", target="de", train=files).is_exact


@pytest.mark.parametrize(
    ("count", "line"),
    [
        (3, "0 # too few pairs to hold any out"),
        (4, "1 # taken from the training pairs"),
        (19, "1 # taken"),
        (40, "2 #"),
    ],
)
def test_held_out_pairs_are_taken_if_the_file_says_so(count: int, line: str):
    assert _splits(count, has_validation=False, has_test=True).startswith(f"validation_pairs = {line}")
    assert _splits(count, has_validation=True, has_test=False).startswith(f"test_pairs = {line}")


def test_one_file_of_both_sides(tmp_path: Path):
    path = tmp_path / "train.tsv.gz"
    path.write_bytes(gzip.compress("".join(f"{source}\t{target}\n" for source, target in pairs(40)).encode()))
    made = new_project(tmp_path / "p", source="en", target="de", train=[str(path)])
    assert made.pairs == 40


@pytest.mark.parametrize(("ending", "separator", "extra"), [("csv", ",", 0), ("tsv", "\t", 1)])
def test_a_header_of_detected_languages_is_recognised(tmp_path: Path, ending: str, separator: str, extra: int):
    """In CSV it is no pair; in TSV it would be one, and a warning names it."""
    some = [(source, target) for source, target in pairs(60) if "," not in source + target]
    path = tmp_path / f"train.{ending}"
    lines = [f"en{separator}de", *(f"{source}{separator}{target}" for source, target in some)]
    path.write_text("\n".join([*lines, ""]), encoding="utf-8")
    for languages in ((None, None), ("en", None), ("en", "de")):
        survey = survey_corpus([str(path)], *languages)
        assert (survey.languages, survey.pairs) == ({"source": "en", "target": "de"}, len(some) + extra)
        assert [warning for warning in survey.warnings if "looks like a header" in warning] == survey.warnings
        assert len(survey.warnings) == extra


def test_what_is_there_is_not_overwritten(tmp_path: Path):
    files = [str(tmp_path / name) for name in write_pairs(tmp_path, "train", pairs(10))]
    new_project(tmp_path, source="en", target="de", train=files)
    with pytest.raises(ConfigError, match="already exists"):
        new_project(tmp_path, source="en", target="de", train=files)


def test_mistakes_are_found_before_anything_is_written(tmp_path: Path):
    files = [str(tmp_path / name) for name in write_pairs(tmp_path, "train", pairs(10))]
    with pytest.raises(DataError, match=r"missing\.de must be a file"):
        new_project(tmp_path / "p", source="en", target="de", train=[files[0], str(tmp_path / "missing.de")])
    with pytest.raises(ConfigError, match="did you mean pairs-30k"):
        new_project(tmp_path / "p", source="en", target="de", train=files, preset="pairs-3k")
    with pytest.raises(ConfigError, match="a language must be a code"):
        new_project(tmp_path / "p", source="english", target="de", train=files)
    assert not (tmp_path / "p" / "dragoman.toml").exists()


def test_languages_are_detected_from_names_and_text(tmp_path: Path):
    files = [str(tmp_path / name) for name in write_pairs(tmp_path, "train", pairs(60))]
    made = new_project(tmp_path / "p", train=files)
    assert (made.source, made.target) == ("en", "de")
    unnamed = [tmp_path / "one.txt", tmp_path / "other.txt"]
    for path, file in zip(unnamed, files, strict=True):
        path.write_bytes(Path(file).read_bytes())
    assert survey_corpus([str(path) for path in unnamed]).languages == {"source": "en", "target": "de"}


def test_text_counts_more_than_a_wrong_file_name(tmp_path: Path):
    files = [str(tmp_path / name) for name in write_pairs(tmp_path, "train", pairs(60))]
    assert survey_corpus(files[::-1]).languages == {"source": "de", "target": "en"}
    (tmp_path / "train.fr").write_bytes((tmp_path / "train.de").read_bytes())
    assert survey_corpus([files[0], str(tmp_path / "train.fr")]).languages["target"] == "de"
    (tmp_path / "train.ch").write_bytes((tmp_path / "train.de").read_bytes())  # the detector does not have ch
    assert survey_corpus([files[0], str(tmp_path / "train.ch")]).languages["target"] == "de"


def test_text_in_no_known_language_needs_a_code(tmp_path: Path):
    for name in ("a", "b"):
        (tmp_path / name).write_text("".join(f"{number * 7919} %\n" for number in range(40)), encoding="utf-8")
    with pytest.raises(ConfigError, match="--source must be given"):
        new_project(tmp_path / "p", train=[str(tmp_path / "a"), str(tmp_path / "b")])


def test_codes_are_written_in_their_canonical_form(tmp_path: Path):
    files = [str(tmp_path / name) for name in write_pairs(tmp_path, "train", pairs(40))]
    made = new_project(tmp_path / "p", source="EN", target="de_at", train=files)
    assert (made.source, made.target) == ("en", "de-AT")
    with pytest.raises(ConfigError, match="must be a code of ISO 639, got 'xx'"):
        new_project(tmp_path / "q", source="xx", target="de", train=files)


def test_a_test_set_is_held_out_unless_one_is_given(tmp_path: Path):
    files = [str(tmp_path / name) for name in write_pairs(tmp_path, "train", pairs(400))]
    held_out, given = (
        load_config(new_project(tmp_path / name, train=files, test=test).config).data
        for name, test in (("p", ()), ("q", files))
    )
    assert held_out is not None
    assert given is not None
    assert (held_out.test_pairs, given.test_pairs) == (20, 0)


def test_many_characters_get_a_larger_vocabulary(tmp_path: Path):
    for language, first, width in (("zh", 0x4E00, 2000), ("en", ord("a"), 26)):
        lines = ["".join(chr(first + (11 * line + place) % width) for place in range(20)) for line in range(500)]
        (tmp_path / f"train.{language}").write_text("\n".join(lines) + "\n", encoding="utf-8")
    files = [str(tmp_path / "train.zh"), str(tmp_path / "train.en")]
    config = load_config(new_project(tmp_path / "p", source="zh", target="en", train=files).config)
    assert config.tokenizer.size == 3300, "260 tokens and bytes, 2,026 characters, half of the preset's 2,000"
    alphabet = [str(tmp_path / name) for name in write_pairs(tmp_path, "train", pairs(40))]
    assert load_config(new_project(tmp_path / "q", train=alphabet).config).tokenizer.size == 2000


@pytest.mark.parametrize("preset", ["pairs-5k", "pairs-200k", "bahdanau2015"])
def test_the_size_in_a_comment_is_that_of_the_preset(tmp_path: Path, preset: str):
    files = [str(tmp_path / name) for name in write_pairs(tmp_path, "train", pairs(40))]
    text = new_project(tmp_path / "p", train=files, preset=preset).config.read_text(encoding="utf-8")
    found = re.search(r"^# \[tokenizer\]\n# size = (\d+) +# tokens, as in the preset$", text, re.MULTILINE)
    assert found is not None
    assert int(found[1]) == load_config(preset).tokenizer.size


def test_a_project_that_fine_tunes_takes_languages_tokenizer_and_model_of_the_bundle(tmp_path: Path):
    data = {"source": "en", "target": "de", "train": [{"files": ["general.en", "general.de"]}]}
    base = bundle(tmp_path / "base", data=data)
    files = [str(tmp_path / name) for name in write_pairs(tmp_path, "train", pairs(400))]
    made = new_project(tmp_path / "p", train=files, bundle=tmp_path / "base")
    config = load_config(made.config)
    assert (made.source, made.target, made.base) == ("en", "de", f"the bundle {tmp_path / 'base'}")
    assert config.model == base.config.model
    assert config.start is not None
    assert config.start.bundle == str(tmp_path / "base")
    assert config.training.patience
    with pytest.raises(ConfigError, match=r"--target must be de, as in .*base, got fr"):
        new_project(tmp_path / "q", train=files, bundle=tmp_path / "base", target="fr")
    with pytest.raises(ConfigError, match="--preset must be left out with --from"):
        new_project(tmp_path / "q", train=files, bundle=tmp_path / "base", preset="pairs-5k")


def test_a_project_that_fine_tunes_several_directions_keeps_them(tmp_path: Path):
    corpora = [{"files": ["a", "b"], "languages": [one, "en"], "both_directions": True} for one in ("de", "fr")]
    bundle(tmp_path / "base", data={"train": corpora, "language_tokens": "both"})
    files = [str(tmp_path / name) for name in write_pairs(tmp_path, "train", pairs(400))]
    made = new_project(tmp_path / "p", train=files, bundle=tmp_path / "base")
    assert (made.source, made.target) == ("en", "de"), "detected, although the first direction of the bundle is another"
    data = load_config(made.config).data
    assert data is not None
    assert data.all_directions() == [("de", "en"), ("en", "de"), ("fr", "en"), ("en", "fr")]
    assert data.language_tokens == "both"
    with pytest.raises(ConfigError, match=r"the target of .* must be fr, got 100 % en"):
        new_project(tmp_path / "q", train=files[::-1], source="de", target="FR", bundle=tmp_path / "base")
    french = ["Le chien court dans la neige avec un petit ballon rouge.\n"] * 400
    (tmp_path / "train.fr").write_text("".join(french), encoding="utf-8")
    train = [files[1], str(tmp_path / "train.fr")]
    untrained = new_project(tmp_path / "q", train=train, source="de", target="FR", bundle=tmp_path / "base")
    data = load_config(untrained.config).data
    assert data is not None
    assert ("de", "fr") in data.all_directions()
    with pytest.raises(
        ConfigError, match=r"--target must be a language of .*base \(de, en, fr\), got pt; name another"
    ):
        new_project(tmp_path / "r", train=files, target="pt", bundle=tmp_path / "base")


def test_a_project_that_fine_tunes_an_imported_model_names_its_language_tokens(tmp_path: Path):
    base = import_model(write_folder(tmp_path / "model", SHAPES["NLLB"]), tmp_path / "base").bundle
    files = [str(tmp_path / name) for name in write_pairs(tmp_path, "train", pairs(400))]
    made = new_project(tmp_path / "p", train=files, bundle=tmp_path / "base")
    config = load_config(made.config)
    assert config.data is not None
    assert base.config.data is not None
    assert config.data.languages == base.config.data.languages
    assert config.data.token_names == base.config.data.token_names
    prepared = prepare_corpora(config, made.config.parent)
    with BatchLoader.from_prepared(prepared, config) as loader:
        first = set(next(loader).source[:, 0].tolist())
    assert first == {prepared.tokenizers()["source"].token_to_id("eng_Latn")}


def test_one_language_on_both_sides_is_refused_unless_it_is_given(tmp_path: Path):
    english = str(tmp_path / write_pairs(tmp_path, "train", pairs(60))[0])
    copy = tmp_path / "other.txt"
    copy.write_bytes(Path(english).read_bytes())
    with pytest.raises(ConfigError, match="must have two languages, got en on both sides"):
        new_project(tmp_path / "p", train=[english, str(copy)])
    assert new_project(tmp_path / "p", source="en", target="en", train=[english, str(copy)]).target == "en"
