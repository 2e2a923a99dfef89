"""From files, presets and overrides to a configuration; and the message of each error."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.config import Config, RnnConfig, TransformerConfig, load_config, parse_config, preset_names, to_toml
from dragoman.errors import CombinationError, ConfigError

RNN: dict[str, Any] = {"model": {"family": "rnn"}}
TRANSFORMER: dict[str, Any] = {"model": {"family": "transformer"}}


def write(folder: Path, **files: str) -> Path:
    """Files named after the arguments; the path of the first."""
    for name, text in files.items():
        (folder / f"{name}.toml").write_text(text, encoding="utf-8")
    return folder / f"{next(iter(files))}.toml"


def complaint(table: dict[str, Any], *overrides: str) -> str:
    with pytest.raises(ConfigError) as refusal:
        parse_config(table, overrides)
    return str(refusal.value)


def complaint_about(source: str | Path) -> str:
    with pytest.raises(ConfigError) as refusal:
        load_config(source)
    return str(refusal.value)


# ------------------------------------------------------------------------------------------------------------- reading


def test_a_preset_is_loaded_by_its_name():
    config = load_config("luong2015")
    assert isinstance(config.model, RnnConfig)
    assert config.model.encoder.layers == 4


def test_a_file_is_loaded_by_its_path_whatever_its_name_ends_in(tmp_path: Path):
    file = write(tmp_path, mine='[model]\nfamily = "transformer"\nheads = 8\n')
    assert load_config(file) == load_config(str(file))
    assert load_config(file).model == TransformerConfig(family="transformer", heads=8)
    assert load_config(file.rename(tmp_path / "settings")).model == TransformerConfig(family="transformer", heads=8)


def test_what_is_not_given_has_its_default(tmp_path: Path):
    file = write(tmp_path, mine='[model]\nfamily = "rnn"\n')
    assert load_config(file) == Config(model=RnnConfig(family="rnn"))


def test_windows_line_ends_are_read(tmp_path: Path):
    file = tmp_path / "mine.toml"
    file.write_bytes(b'description = "x"\r\n[model]\r\nfamily = "rnn"\r\n')
    assert load_config(file).description == "x"


def test_a_preset_that_does_not_exist_is_answered_with_those_that_do():
    message = complaint_about("luong2051")
    assert message.startswith("the configuration must be a .toml file or a preset, got ")
    assert message.endswith("got luong2051; did you mean luong2015?")
    assert complaint_about("zzz").endswith(f"got zzz; presets: {', '.join(preset_names())}")


def test_a_file_that_does_not_exist_is_named(tmp_path: Path):
    assert f"got {tmp_path / 'none.toml'}; there is no such file" in complaint_about(tmp_path / "none.toml")


@pytest.mark.parametrize("text", ["seed = ", "[model\n", "a = 1\na = 2\n", "seed = 01", "'"])
def test_invalid_toml_is_named_by_its_file(tmp_path: Path, text: str):
    file = write(tmp_path, mine=text)
    assert complaint_about(file).startswith(f"the configuration {file} must be valid TOML, got: ")


def test_invalid_toml_below_is_named_by_its_own_file(tmp_path: Path):
    file = write(tmp_path, mine='extends = "below.toml"', below="seed = ")
    assert complaint_about(file).startswith(f"the configuration {tmp_path / 'below.toml'} must be valid TOML, got: ")


@pytest.mark.parametrize(("name", "text"), [("settings.json", '{"model": {}}'), ("notes.txt", "Some text.\n")])
def test_a_file_of_another_format_is_answered_with_the_right_one(tmp_path: Path, name: str, text: str):
    (tmp_path / name).write_text(text, encoding="utf-8")
    message = complaint_about(tmp_path / name)
    assert message.startswith(f"the configuration {tmp_path / name} must be valid TOML, got: ")
    assert message.endswith("; name a .toml file, as dragoman new writes")


def test_a_file_that_is_not_text_is_refused(tmp_path: Path):
    file = tmp_path / "mine.toml"
    file.write_bytes(b"\xff\xfe\x00")
    assert complaint_about(file).startswith(f"the configuration {file} must be a readable UTF-8 file, got: ")


def test_a_folder_is_not_a_file(tmp_path: Path):
    folder = tmp_path / "mine.toml"
    folder.mkdir()
    assert complaint_about(folder).startswith(f"the configuration {folder} must be a readable UTF-8 file, got: ")


def test_a_file_that_may_not_be_read_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    file = write(tmp_path, mine="")

    def forbidden(*_: object, **__: object) -> str:
        raise PermissionError(13, "Permission denied", str(file))

    monkeypatch.setattr(Path, "open", forbidden)
    assert complaint_about(file).startswith(f"the configuration {file} must be a readable UTF-8 file, got: ")


def test_a_folder_does_not_hide_the_preset_of_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A run folder may have the name of a preset."""
    preset = load_config("luong2015")
    (tmp_path / "luong2015").mkdir()
    monkeypatch.chdir(tmp_path)
    assert load_config("luong2015") == preset


@pytest.mark.parametrize("name", ["x" * 5000, "a\0b", ""], ids=["long", "null", "empty"])
def test_a_name_that_no_file_can_have_is_a_mistake_like_any_other(name: str):
    assert "must be" in complaint_about(name)


# ------------------------------------------------------------------------------------------------------------- extends


def test_a_file_extends_a_preset(tmp_path: Path):
    file = write(tmp_path, mine='extends = "luong2015"\n[model]\ndropout = 0.5\n[model.encoder]\nhidden = 1000\n')
    preset, mine = load_config("luong2015"), load_config(file)
    assert mine == parse_config(preset.model_dump() | {"description": ""}, ["model.dropout=0.5"])
    assert mine != preset


def test_a_file_extends_a_file_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Relative to the file, not to the working directory."""
    file = write(tmp_path, mine='extends = "below.toml"\n[training]\nseed = 5\n', below='[model]\nfamily = "rnn"\n')
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    assert load_config(file).training.seed == 5
    assert load_config(Path("..") / "mine.toml") == load_config(file)


def test_a_chain_of_files_ends_in_a_preset(tmp_path: Path):
    file = write(
        tmp_path,
        top='extends = "middle.toml"\n[training]\nseed = 3\n',
        middle='extends = "bottom.toml"\n[training]\nseed = 2\nclip_norm = 2.0\n',
        bottom='extends = "vaswani2017-desk"\n[training]\nseed = 1\nclip_norm = 1.0\nmax_updates = 7\n',
    )
    training = load_config(file).training
    assert (training.seed, training.clip_norm, training.max_updates) == (3, 2.0, 7)
    assert training.beta2 == load_config("vaswani2017-desk").training.beta2 == 0.98


def test_a_preset_extends_presets():
    desk, paper = load_config("luong2015-local-p-desk").model, load_config("luong2015").model
    assert isinstance(desk, RnnConfig)
    assert isinstance(paper, RnnConfig)
    assert desk.reverse_source
    assert paper.reverse_source
    assert desk.encoder.hidden < paper.encoder.hidden
    assert desk.attention.alignment == "local-p"


@pytest.mark.parametrize(
    "files",
    [
        {"a": 'extends = "a.toml"'},
        {"a": 'extends = "b.toml"', "b": 'extends = "a.toml"'},
        {"a": 'extends = "b.toml"', "b": 'extends = "c.toml"', "c": 'extends = "b.toml"'},
        {"a": 'extends = "./a.toml"'},
        {"a": 'extends = "../here/a.toml"'},
        {"a": 'extends = "../here/b.toml"', "b": 'extends = "../here/../here/a.toml"'},
    ],
    ids=["itself", "two", "further-down", "dot", "dots", "two-dots"],
)
def test_a_circle_is_refused(tmp_path: Path, files: dict[str, str]):
    here = tmp_path / "here"
    here.mkdir()
    message = complaint_about(write(here, **files))
    assert message.startswith("extends must not be circular, got ")
    assert "a.toml → " in message


def test_a_diamond_is_no_circle(tmp_path: Path):
    left = write(tmp_path, left='extends = "below.toml"', right='extends = "below.toml"', below=to_toml(Config(**RNN)))
    assert load_config(left) == load_config(tmp_path / "right.toml")


def test_extending_what_is_not_there_says_so(tmp_path: Path):
    assert "did you mean cho2014?" in complaint_about(write(tmp_path, a='extends = "cho2041"'))
    assert f"got {tmp_path / 'b.toml'}; there is no such file" in complaint_about(
        write(tmp_path, a='extends = "b.toml"')
    )
    assert "extends must be a string, got 3; name a preset" in complaint_about(write(tmp_path, a="extends = 3"))


def test_another_family_starts_from_an_empty_model_table(tmp_path: Path):
    file = write(tmp_path, mine='extends = "luong2015-desk"\n[model]\nfamily = "transformer"\nheads = 2\n')
    mine, luong = load_config(file), load_config("luong2015-desk")
    assert mine.model == TransformerConfig(family="transformer", heads=2)
    assert (mine.tokenizer, mine.training) == (luong.tokenizer, luong.training)
    overrides = ["model.family=transformer", "model.heads=2", "description=''"]
    assert load_config("luong2015-desk", overrides) == mine


def test_the_same_family_keeps_the_model_table(tmp_path: Path):
    file = write(tmp_path, mine='extends = "luong2015"\n[model]\nfamily = "rnn"\n')
    assert load_config(file) == load_config("luong2015", ["description=''"])


def test_a_description_is_of_the_file_it_stands_in(tmp_path: Path):
    assert load_config("luong2015-local-p").description != load_config("luong2015").description
    assert load_config(write(tmp_path, mine='extends = "luong2015"\n')).description == ""


# ----------------------------------------------------------------------------------------------------------- overrides


@pytest.mark.parametrize(
    ("override", "section", "setting", "value"),
    [
        ("training.seed=5", "training", "seed", 5),
        ("training.seed = 5", "training", "seed", 5),
        ("training.max_updates=10_000", "training", "max_updates", 10_000),
        ("training.learning_rate=2e-4", "training", "learning_rate", 2e-4),
        ("training.learning_rate=1", "training", "learning_rate", 1.0),
        ("training.optimizer=sgd", "training", "optimizer", "sgd"),
        ('training.optimizer="sgd"', "training", "optimizer", "sgd"),
        ("training.schedule=inverse-sqrt", "training", "schedule", "inverse-sqrt"),
        ("tokenizer.joint=false", "tokenizer", "joint", False),
        ("model.reverse_source=true", "model", "reverse_source", True),
    ],
)
def test_an_override_is_a_toml_value_or_a_plain_string(override: str, section: str, setting: str, value: object):
    found = getattr(getattr(parse_config(RNN, [override]), section), setting)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize("text", ["two words", "a=b", "'a=b'", "", "50 % of it", "[draft", "naïve — 漢字"])
def test_an_override_may_be_any_string(text: str):
    assert parse_config(RNN, [f"description={text}"]).description == text.strip("'")


def test_an_override_reaches_any_depth_and_replaces_only_what_it_names():
    before = parse_config({"model": {"family": "rnn", "encoder": {"layers": 3}}})
    after = parse_config(before.model_dump(), ["model.encoder.cell=gru-fused", "model.attention={ score = 'concat' }"])
    assert isinstance(after.model, RnnConfig)
    assert (after.model.encoder.layers, after.model.encoder.cell) == (3, "gru-fused")
    assert (after.model.attention.score, after.model.attention.window) == ("concat", 10)


def test_the_last_override_wins():
    assert parse_config(RNN, ["training.seed=1", "training.seed=2"]).training.seed == 2


def test_overrides_leave_the_table_as_it_was():
    table: dict[str, Any] = {"model": {"family": "rnn", "encoder": {"layers": 3}}}
    parse_config(table, ["model.encoder.layers=1", "training.seed=9"])
    assert table == {"model": {"family": "rnn", "encoder": {"layers": 3}}}


@pytest.mark.parametrize("override", ["training.seed", "", "=3", "training.=3", ".seed=3", "training..seed=3", " = "])
def test_an_override_without_a_name_or_a_value_is_refused(override: str):
    assert complaint(RNN, override).startswith(f"--set must be of the form section.setting=value, got {override!r}; ")


def test_an_override_is_checked_like_a_file():
    assert complaint(RNN, "training.sede=3").endswith("did you mean seed?")
    assert complaint(RNN, "training.seed=x").startswith("training.seed must be a whole number")
    with pytest.raises(CombinationError, match="legal"):
        parse_config(RNN, ["model.decoder.context=every-step"])


# ------------------------------------------------------------------------------------------------------------ mistakes


@pytest.mark.parametrize(
    ("override", "meant"),
    [
        ("trainig.seed=1", "training"),
        ("training.learning_rat=1", "learning_rate"),
        ("training.adam_beta1=1", "beta1"),
        ("tokenizer.normal-form=nfc", "normal_form"),
        ("model.embeding=8", "embedding"),
        ("model.encoder.hiden=8", "hidden"),
        ("model.decoder.input_feed=true", "input_feeding"),
        ("model.attention.scores=dot", "score"),
        ("training.max_update=5", "max_updates"),
        ("training.Max_Updates=5", "max_updates"),
        ("training.steps=5", "training.max_updates"),
        ("max_updates=5", "training.max_updates"),
        ("model.batch_tokens=5", "training.batch_tokens"),
        ("training.vocab_size=5", "tokenizer.size"),
    ],
)
def test_an_unknown_setting_is_answered_with_the_one_that_was_meant(override: str, meant: str):
    name = override.partition("=")[0]
    place = "trainig" if name.startswith("trainig.") else name  # the whole section is unknown
    assert complaint(RNN, override) == f"{place} is no known setting; did you mean {meant}?"


def test_the_settings_of_the_other_family_are_unknown():
    assert complaint(RNN, "model.feedforward=8").startswith("model.feedforward is no known setting")
    assert complaint(TRANSFORMER, "model.feedfoward=8").endswith("did you mean feedforward?")
    assert complaint(TRANSFORMER, "model.encoder.layers=8").startswith("model.encoder is no known setting")


def test_nothing_is_guessed_where_nothing_is_near():
    assert complaint(RNN, "training.xyzzy=1").startswith("training.xyzzy is no known setting; known here: seed, ")


def test_extends_is_for_files_only():
    assert complaint({"extends": "luong2015"} | RNN).startswith(
        "extends is no known setting; known here: description, "
    )


@pytest.mark.parametrize(
    ("override", "rule"),
    [
        ("training.seed=x", "a whole number"),
        ("training.seed=1.5", "a whole number"),
        ("training.seed=[1]", "a whole number"),
        ("training.seed={ a = 1 }", "a whole number"),
        ("training.learning_rate=fast", "a number"),
        ("training.learning_rate=2020-01-01", "a number"),
        ("tokenizer.joint=perhaps", "true or false"),
        ("tokenizer.joint=3", "true or false"),
        ("description=3", "text"),
        ("description=[]", "text"),
        ("model.decoder.output_hidden=half", "a whole number"),
        ("training=3", "a table of settings"),
        ("model=3", "a table of settings"),
    ],
)
def test_a_value_of_the_wrong_type_is_refused(override: str, rule: str):
    name = override.partition("=")[0]
    message = complaint(RNN, override)
    assert message.startswith(f"{name} must be {rule}")
    assert ", got " in message


@pytest.mark.parametrize(
    "override",
    [
        "training.seed=true",
        "training.seed='3'",
        "training.learning_rate='0.1'",
        "training.weight_decay=false",
        "tokenizer.joint=1",
        "tokenizer.joint=0.0",
        "tokenizer.joint='yes'",
        "model.decoder.input_feeding='off'",
    ],
)
def test_nothing_is_converted(override: str):
    """A number in quotes, a yes, a one for a true: more often a slip than an intention."""
    assert complaint(RNN, override).startswith(f"{override.partition('=')[0]} must be ")


@pytest.mark.parametrize(
    ("override", "rule"),
    [
        ("model.embedding=0", "greater than or equal to 1"),
        ("model.encoder.layers=-1", "greater than or equal to 1"),
        ("model.decoder.output_hidden=0", "greater than or equal to 1"),
        ("model.attention.window=0", "greater than or equal to 1"),
        ("model.dropout=1.0", "less than 1"),
        ("model.dropout=-0.1", "greater than or equal to 0"),
        ("model.dropout=nan", "a finite number"),
        ("tokenizer.size=7", "greater than or equal to 8"),
        ("training.seed=-1", "greater than or equal to 0"),
        ("training.learning_rate=0", "greater than 0"),
        ("training.learning_rate=nan", "a finite number"),
        ("training.label_smoothing=1", "less than 1"),
        ("training.clip_norm=-1", "greater than or equal to 0"),
        ("training.halve_every=0", "greater than or equal to 1"),
    ],
)
def test_a_value_out_of_range_is_refused(override: str, rule: str):
    name, _, value = override.partition("=")
    message = complaint(RNN, override)
    assert message.startswith(f"{name} must be {rule}, got ")
    assert message.rpartition(" ")[2].removesuffix(".0") == value.removesuffix(".0")


@pytest.mark.parametrize("setting", ["learning_rate", "epsilon", "weight_decay", "clip_norm", "coverage_weight"])
def test_infinity_is_out_of_range(setting: str):
    assert complaint(RNN, f"training.{setting}=inf").startswith(f"training.{setting} must be ")


@pytest.mark.parametrize(
    ("override", "legal", "meant"),
    [
        ("model.encoder.cell=gru", "rnn, lstm, gru-published, gru-fused", "gru-published or gru-fused"),
        ("model.attention.score=generl", "dot, scaled-dot, general, concat, location", "general"),
        ("model.decoder.attend=befor", "before, after, none", "before"),
        ("training.precision=bf17", "auto, fp32, bf16", "bf16"),
        ("model.tie=3", "none, target, all", None),
    ],
)
def test_a_word_that_is_not_in_the_list_is_answered_with_the_list(override: str, legal: str, meant: str | None):
    name, _, value = override.partition("=")
    message = complaint(RNN, override)
    assert message.startswith(f"{name} must be one of {legal}, got ")
    assert value in message
    assert ("did you mean" in message) == (meant is not None)
    if meant:
        assert message.endswith(f"did you mean {meant}?")


def test_a_configuration_has_a_model():
    assert complaint({}).startswith("model is missing; start from a preset")
    assert complaint({"model": {}}) == "model.family must be one of rnn, transformer, got None"
    assert complaint({"model": {"family": "rrn"}}).endswith("got 'rrn'; did you mean rnn?")


def test_every_mistake_is_reported_each_on_its_line():
    message = complaint(RNN, "model.dropout=2", "model.embeding=8", "training.seed=x", "tokeniser.size=8")
    assert [line.partition(" ")[0] for line in sorted(message.splitlines())] == [
        "model.dropout",
        "model.embeding",
        "tokeniser",
        "training.seed",
    ]


# ------------------------------------------------------------------------------------------------------------- writing


@pytest.mark.parametrize("name", preset_names())
def test_a_preset_written_out_reads_back(name: str, tmp_path: Path):
    config = load_config(name)
    text = to_toml(config)
    assert parse_config(tomllib.loads(text)) == config
    assert load_config(write(tmp_path, again=text)) == config
    assert "extends" not in tomllib.loads(text)


def test_what_is_written_out_is_everything():
    written = tomllib.loads(to_toml(Config(**RNN)))
    assert written["model"]["attention"]["window"] == 10
    assert written["training"].keys() == Config(**RNN).training.model_dump(exclude_none=True).keys()


def test_corpora_read_back(tmp_path: Path):
    train = [{"files": ["a.en", "a.de"], "weight": 2.0}, {"files": ["b.tmx"], "name": 'the "b"'}]
    data = {"source": "en", "target": "de", "train": train, "validation": {"files": ["v.tsv"]}, "test": []}
    config = parse_config(RNN | {"data": data | {"cleaning": {"duplicates": ["pair", "source"]}}})
    assert load_config(write(tmp_path, again=to_toml(config))) == config
    assert config.data is not None
    assert [corpus.weight for corpus in config.data.train] == [2.0, 1.0]


@pytest.mark.parametrize(
    ("setting", "complaint"),
    [
        ({"train": [{"files": ["a"], "wieght": 2.0}]}, "data.train.0.wieght is no known setting"),
        ({"train": [{"files": ["a"], "wieght": 2.0}]}, "did you mean weight?"),
        ({"validation": {"file": ["a"]}}, "did you mean files?"),
        (
            {"train": [{"files": ["a"], "share": 0.5}]},
            "must leave some for a corpus without a share, got 1 shares of 0.5",
        ),
        ({"train": [{"files": ["a"]}, {"files": ["b"], "share": 1.0}]}, "data.train.1.share must be"),
        ({"train": [{"files": ["a"]}, {"files": ["b"], "share": 0.1, "weight": 2.0}]}, "weight must be left out where"),
        ({"cleaning": {"ratio": 2.0}}, "did you mean max_ratio?"),
        ({"target": "german"}, "a language must be a code of two or three letters, got 'german'"),
    ],
)
def test_settings_of_corpora_are_named_by_their_place(setting: dict[str, Any], complaint: str):
    data = {"source": "en", "target": "de", "train": [{"files": ["a.en", "a.de"]}]}
    with pytest.raises(ConfigError, match=re.escape(complaint)):
        parse_config(RNN | {"data": data | setting})


@given(st.text())
def test_any_description_reads_back(description: str):
    config = Config(description=description, **RNN)
    assert parse_config(tomllib.loads(to_toml(config))) == config


@given(st.floats(min_value=5e-324, allow_infinity=False), st.integers(0, 2**63 - 1))
def test_any_number_reads_back(rate: float, seed: int):
    config = parse_config(RNN | {"training": {"learning_rate": rate, "seed": seed}})
    assert parse_config(tomllib.loads(to_toml(config))) == config
