"""The schema is closed, frozen, described, and agrees with JSON Schema."""

from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from dragoman.config import (
    AttentionConfig,
    CleaningConfig,
    Config,
    CorpusConfig,
    DataConfig,
    LoraConfig,
    RnnConfig,
    RnnDecoderConfig,
    RnnEncoderConfig,
    SamplingConfig,
    StartConfig,
    TokenizerConfig,
    TrainingConfig,
    TransformerConfig,
    load_config,
    parse_config,
    preset_names,
)
from dragoman.config.corpus import AugmentConfig
from dragoman.config.search import InferenceConfig
from dragoman.config.training import GuidedAlignmentConfig
from dragoman.errors import ConfigError

TABLES: list[type[BaseModel]] = [
    AttentionConfig,
    AugmentConfig,
    CleaningConfig,
    Config,
    CorpusConfig,
    DataConfig,
    GuidedAlignmentConfig,
    InferenceConfig,
    LoraConfig,
    RnnConfig,
    RnnDecoderConfig,
    RnnEncoderConfig,
    SamplingConfig,
    StartConfig,
    TokenizerConfig,
    TrainingConfig,
    TransformerConfig,
]
SCHEMA = Config.model_json_schema()
RNN: dict[str, Any] = {"model": {"family": "rnn"}}
TRAIN: dict[str, Any] = {"source": "en", "target": "de", "train": [{"files": ["a.en", "a.de"]}]}

# What our schemas use of JSON Schema, draft 2020-12, and the type each keyword's value must have there.
KEYWORDS: dict[str, type | tuple[type, ...]] = {
    "$defs": dict,
    "$ref": str,
    "additionalProperties": bool,
    "anyOf": list,
    "const": str,
    "default": object,
    "description": str,
    "discriminator": dict,  # OpenAPI's; JSON Schema ignores unknown keywords
    "enum": list,
    "exclusiveMaximum": (int, float),
    "exclusiveMinimum": (int, float),
    "items": dict,
    "maxItems": int,
    "maximum": (int, float),
    "minItems": int,
    "minimum": (int, float),
    "oneOf": list,
    "properties": dict,
    "required": list,
    "title": str,
    "type": str,
}
TYPES: dict[str, type | tuple[type, ...]] = {
    "array": list,
    "object": dict,
    "string": str,
    "boolean": bool,
    "integer": int,
    "number": (int, float),
    "null": type(None),
}


def schemas(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The schema and every schema inside it."""
    yield schema
    for inner in (
        *schema.get("$defs", {}).values(),
        *schema.get("properties", {}).values(),
        *schema.get("anyOf", []),
        *schema.get("oneOf", []),
        *([schema["items"]] if "items" in schema else []),
    ):
        yield from schemas(inner)


def accepts(schema: dict[str, Any], value: object) -> bool:
    """Whether a JSON value fits: the part of JSON Schema that `KEYWORDS` lists."""
    return (
        ("$ref" not in schema or accepts(resolved(schema["$ref"]), value))
        and ("anyOf" not in schema or any(accepts(option, value) for option in schema["anyOf"]))
        and ("oneOf" not in schema or sum(accepts(option, value) for option in schema["oneOf"]) == 1)
        and ("type" not in schema or is_of_type(value, schema["type"]))
        and ("const" not in schema or value == schema["const"])
        and ("enum" not in schema or value in schema["enum"])
        and (not isinstance(value, int | float) or in_range(value, schema))
        and (not isinstance(value, dict) or "properties" not in schema or has_properties(value, schema))
        and (not isinstance(value, list) or has_items(value, schema))
    )


def has_items(value: list[Any], schema: dict[str, Any]) -> bool:
    return (
        schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value))
        and "items" in schema
        and all(accepts(schema["items"], item) for item in value)
    )


def has_properties(value: dict[str, Any], schema: dict[str, Any]) -> bool:
    properties = schema["properties"]
    return set(schema.get("required", [])) <= value.keys() <= properties.keys() and all(
        accepts(properties[key], item) for key, item in value.items()
    )


def is_of_type(value: object, name: str) -> bool:
    return isinstance(value, TYPES[name]) and (name == "boolean" or not isinstance(value, bool))


def in_range(value: float, schema: dict[str, Any]) -> bool:
    infinity = float("inf")
    least, most = float(schema.get("minimum", -infinity)), float(schema.get("maximum", infinity))
    above, below = float(schema.get("exclusiveMinimum", -infinity)), float(schema.get("exclusiveMaximum", infinity))
    return least <= value <= most and above < value < below


def resolved(reference: str) -> dict[str, Any]:
    found: dict[str, Any] = SCHEMA["$defs"][reference.removeprefix("#/$defs/")]
    return found


def test_the_json_schema_is_made_of_known_words_of_the_right_types():
    found = list(schemas(SCHEMA))
    for schema in found:
        for keyword, value in schema.items():
            assert isinstance(value, KEYWORDS[keyword]), f"{keyword} in {schema}"
        assert schema.get("type", "object") in TYPES
        assert set(schema.get("required", [])) <= schema.get("properties", {}).keys()
        if "$ref" in schema:
            assert resolved(schema["$ref"])["type"] == "object"
    assert len(found) > len(TABLES)


def test_the_json_schema_is_closed():
    objects = [schema for schema in schemas(SCHEMA) if "properties" in schema]
    assert {schema["title"] for schema in objects} == {table.__name__ for table in TABLES}
    for schema in objects:
        assert schema["type"] == "object"
        assert schema["additionalProperties"] is False, schema["title"]


@pytest.mark.parametrize("name", preset_names())
def test_the_json_schema_accepts_every_preset(name: str):
    assert accepts(SCHEMA, load_config(name).model_dump(mode="json"))


@pytest.mark.parametrize(
    "change",
    [
        {"modle": {}},
        {"model": {"family": "rnn", "heads": 2}},
        {"model": {"family": "transformer", "encoder": {}}},
        {"model": {"family": "cnn"}},
        {"model": {}},
        {"model": {"family": "rnn", "encoder": {"hidden": 0}}},
        {"model": {"family": "rnn", "dropout": 1.0}},
        {"model": {"family": "rnn", "tie": "both"}},
        {"training": {"learning_rate": 0}},
        {"training": {"seed": "x"}},
        {"tokenizer": {"joint": "x"}},
        {"description": 3},
        {"data": TRAIN | {"train": [{"files": []}]}},
        {"data": TRAIN | {"train": [{"files": ["a"], "wieght": 1.0}]}},
        {"data": TRAIN | {"cleaning": {"duplicates": ["pairs"]}}},
        {"data": TRAIN | {"cleaning": {"max_ratio": 0.5}}},
    ],
    ids=str,
)
def test_the_json_schema_refuses_what_the_loader_refuses(change: dict[str, Any]):
    assert accepts(SCHEMA, RNN | {"data": TRAIN})
    assert not accepts(SCHEMA, RNN | change)
    with pytest.raises(ConfigError):
        parse_config(RNN | change)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.__name__)
def test_everything_says_what_it_is_for(table: type[BaseModel]):
    assert table.__doc__
    for name, field in table.model_fields.items():
        assert field.description, f"{table.__name__}.{name} has no docstring"
        assert len(field.description) > 5, f"{table.__name__}.{name} is described by {field.description!r}"
        assert field.description[-1] in ".?", f"the description of {table.__name__}.{name} is not a sentence"


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.__name__)
def test_no_setting_can_be_changed_once_it_is_checked(table: type[BaseModel]):
    config = load_config("luong2015")
    assert isinstance(config.model, RnnConfig)
    tables = [config, config.tokenizer, config.training, config.model, load_config("vaswani2017-base").model]
    tables += [config.model.encoder, config.model.decoder, config.model.attention]
    data = DataConfig.model_validate(TRAIN)
    tables += [
        data,
        data.train[0],
        data.cleaning,
        data.sampling,
        AugmentConfig(),
        StartConfig(bundle="general"),
        LoraConfig(),
        GuidedAlignmentConfig(),
    ]
    tables.append(InferenceConfig())
    (one,) = [each for each in tables if type(each) is table]
    name = next(iter(table.model_fields))
    with pytest.raises(ValidationError, match="frozen"):
        setattr(one, name, getattr(one, name))


def test_features_are_what_the_output_sees():
    rnn = RnnConfig.model_validate({"family": "rnn", "embedding": 6, "decoder": {"hidden": 8}})
    assert rnn.features == 8
    deep = {"hidden": 8, "attend": "before", "output": "deep"}
    assert RnnConfig.model_validate({"family": "rnn", "embedding": 6, "decoder": deep}).features == 6
    deep["output_hidden"] = 4
    assert RnnConfig.model_validate({"family": "rnn", "embedding": 6, "decoder": deep}).features == 4


@pytest.mark.parametrize(
    ("tokenizer", "message"),
    [
        ({"kind": "word", "symbols": ["<BT>"]}, "symbols must come with the kind sentencepiece, got word"),
        ({"symbols": ["a b"]}, "symbols must be texts without spaces, got 'a b'"),
        ({"symbols": [""]}, "symbols must be texts without spaces, got ''"),
    ],
)
def test_symbols_of_the_tokenizer(tokenizer: dict[str, Any], message: str):
    with pytest.raises(ConfigError, match=message):
        parse_config(RNN | {"tokenizer": tokenizer})


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "model.alignment_map must be guided or guided-input where .* got penultimate"),
        (
            {"alignment_map": "guided", "temperature": 0.5},
            "data.sampling.subword_temperature must be 0 where .* got 0.5",
        ),
        ({"attention": {"alignment": "hard"}}, r"\[training.guided_alignment\] needs attention with a weight"),
        ({"encoder": {"structured_rows": 2}}, r"\[training.guided_alignment\] needs attention with a weight"),
    ],
)
def test_what_can_be_guided(settings: dict[str, Any], message: str):
    is_rnn = "attention" in settings or "encoder" in settings
    data = {"source": "en", "target": "de", "sampling": {"subword_temperature": settings.pop("temperature", 0.0)}}
    made = {"model": {"family": "rnn" if is_rnn else "transformer"} | settings, "training": {"guided_alignment": {}}}
    with pytest.raises(ConfigError, match=message):
        parse_config(made | {"data": data | {"train": [{"files": ["a.en", "a.de"]}]}})


def test_recurrent_attention_can_be_guided():
    assert parse_config(RNN | {"training": {"guided_alignment": {}}}).training.guided_alignment is not None
