"""Create a new project: write a commented configuration file for given corpora."""

from __future__ import annotations

import json
import shlex
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dragoman.bundle import Bundle
from dragoman.config import CorpusConfig, DataConfig, load_config, preset_names
from dragoman.config.corpus import Direction
from dragoman.data.corpus_survey import CorpusSurvey, check_files, survey_corpus
from dragoman.data.readers.corpus_reader import file_format
from dragoman.data.readers.streams import STDIN, is_url
from dragoman.data.token_pairs import SIDES
from dragoman.errors import ConfigError
from dragoman.files import atomic_write
from dragoman.language_codes import check_language, is_same_language, match_language
from dragoman.run_files import PROJECT
from dragoman.text.other_language import are_swapped, swapped_problem
from dragoman.text.tokenizers.vocabulary import count_needed_tokens, fitting_size

if TYPE_CHECKING:
    from jinja2 import Template

_PRESETS = ((15_000, "pairs-5k"), (80_000, "pairs-30k"), (1_500_000, "pairs-200k"))

_CERTAIN, _CERTAIN_TEXTS = 0.8, 20  # minimum share of one other language, and number of texts, to reject a project
_MAX_LISTED = 300  # characters of a list of languages
_TOKENS_PER_PAIR, _PASSES, _BATCH_TOKENS = 20, 10, 2048  # of fine-tuning


@dataclass(frozen=True)
class Project:
    """Result of `new_project`."""

    config: Path
    base: str
    """What it starts from: a preset or a bundle, with its name or path."""
    pairs: int
    is_exact: bool
    """Whether all pairs were counted; counting stops early in very large corpora."""
    source: str
    target: str
    warnings: tuple[str, ...] = ()
    """Sides whose text is mostly in another language, headers that are read as pairs, and unusual lines."""


def new_project(  # noqa: PLR0913 -- one keyword per part of the file
    folder: Path,
    *,
    train: Sequence[str],
    source: str | None = None,
    target: str | None = None,
    validation: Sequence[str] = (),
    test: Sequence[str] = (),
    preset: str | None = None,
    bundle: Bundle | Path | None = None,
    form: str = "auto",
    columns: Sequence[str] = (),
    language_check: bool = True,
) -> Project:
    """Write a commented ``dragoman.toml``; text in another language is an error if `language_check`."""
    path = folder / PROJECT
    if path.exists():
        raise ConfigError(f"{path} already exists; edit it, or name another folder")
    if STDIN in (*train, *validation, *test):
        raise ConfigError("a new project must name files, got - for standard input; write it into the file afterwards")
    if preset is not None and preset not in preset_names():
        load_config(preset)  # raises an error that lists the presets
    if bundle is not None and preset is not None:
        raise ConfigError(f"--preset must be left out with --from, got {preset}; the model is that of the bundle")
    for files in filter(None, (validation, test)):
        check_files(files)
    if bundle is not None:
        check_files(train, form, columns)  # opening the bundle takes longer
        bundle = Bundle.open(bundle) if isinstance(bundle, Path) else bundle
        source, target = bundle_languages(bundle, source, target)
    survey = survey_corpus(train, source, target, form, columns)
    given = source, target
    known = survey.complete_languages(*(code and check_language(code) for code in given))
    source, target = (_language(side, code) for side, code in zip(SIDES, known, strict=True))
    base_data = None if bundle is None else bundle.config.data
    if bundle is not None and base_data is not None and len(base_data.all_directions()) > 1:
        source, target = bundle_languages(bundle, source, target)
        assert source is not None
        assert target is not None
    _check_two_languages(source, target, given)
    corpus = CorpusConfig.model_validate({"files": [*train], "format": form, "columns": [*columns]})
    if language_check:
        _check_sides(survey, source, target, fix=_exchange(corpus, is_fixed=bundle is not None))
    warnings = _wrong_languages(survey, corpus, source, target, is_fixed=bundle is not None, is_checked=language_check)
    warnings += survey.warnings
    for name, held_out in (("validation", validation), ("test", test)):
        if held_out:
            warnings += check_held_out(name, held_out, source, target, language_check=language_check)
    chosen = preset or preset_for(survey.pairs)
    values = _preset_values(chosen, survey) if bundle is None else _fine_tuning_values(bundle, survey.pairs, folder)
    folder.mkdir(parents=True, exist_ok=True)
    text = _template().render(
        values,
        source=source,
        target=target,
        config=PROJECT,
        directions="" if base_data is None else _direction_settings(base_data, (source, target)),
        splits=_splits(survey.pairs, has_validation=bool(validation), has_test=bool(test)),
        train=_listed(train, folder),
        form=form,
        columns=json.dumps([*columns], ensure_ascii=False) if columns else "",
        validation=_listed(validation, folder) if validation else "",
        test=_listed(test, folder) if test else "",
    )
    with atomic_write(path) as draft:
        draft.write_text(text, encoding="utf-8")
        load_config(draft)
    name = f"the preset {chosen}" if bundle is None else f"the bundle {bundle.folder}"
    return Project(path, name, survey.pairs, survey.is_exact, source, target, tuple(warnings))


def preset_for(pairs: int) -> str:
    """Return the preset for a number of training pairs."""
    return next((name for most, name in _PRESETS if pairs < most), "pairs-5m")


def bundle_languages(bundle: Bundle, source: str | None, target: str | None) -> tuple[str | None, str | None]:
    """Return the languages for fine-tuning a bundle: those given, which must be its own, else its only direction."""
    data, path = bundle.config.data, bundle.folder
    if data is None:
        return source, target
    if len(data.all_directions()) > 1:
        if source is not None:
            source = _known_language(data, path, "source", source)
        if target is not None:
            target = _known_language(data, path, "target", target)
        return source, target
    for side, given, known in (("source", source, data.source), ("target", target, data.target)):
        if given is not None and check_language(given).partition("-")[0] != known.partition("-")[0]:
            raise ConfigError(
                f"--{side} must be {known}, as in {path}, got {given}; leave it out, or name another bundle"
            )
    return source or data.source, target or data.target


def _known_language(data: DataConfig, bundle: Path, side: str, code: str) -> str:
    """Return the language of a model with several directions that a code names."""
    languages = dict.fromkeys(language for direction in data.all_directions() for language in direction)
    found = match_language(check_language(code), languages)
    if found is None:
        listed = textwrap.shorten(", ".join(languages), _MAX_LISTED, placeholder=" …")
        raise ConfigError(
            f"--{side} must be a language of {bundle} ({listed}), got {code}; name another corpus, or see Add a "
            "language in docs/multilingual.md"
        )
    return found


def _direction_settings(data: DataConfig, direction: Direction) -> str:
    """Return the settings of [data] that keep the directions and language tokens of a bundle."""
    if not data.is_multilingual:
        return ""
    directions = dict.fromkeys([*data.all_directions(), direction])
    languages = [*dict.fromkeys(language for each in directions for language in each)]
    if len(directions) == len(languages) * (len(languages) - 1) > 2:
        listed = f"languages = {json.dumps(languages)} # the bundle translates between any two"
    else:
        listed = f"directions = {json.dumps([':'.join(each) for each in directions])} # those of the bundle"
    lines = [listed, f'language_tokens = "{data.language_tokens or "source"}" # as in the bundle']
    if data.language_token_names:
        lines.append(f"language_token_names = {json.dumps(data.language_token_names, ensure_ascii=False)}")
    return "\n".join(lines) + "\n"


def _check_two_languages(source: str, target: str, given: tuple[str | None, str | None]) -> None:
    """Reject one language on both sides, unless it was given."""
    if source == target and None in given:
        raise ConfigError(
            f"a corpus must have two languages, got {source} on both sides; name them with --source and --target, or "
            "choose other files or --columns"
        )


def _language(side: str, code: str | None) -> str:
    if code is None:
        raise ConfigError(f"--{side} must be given, as the language of the text was not recognised")
    return code


def _template() -> Template:
    from jinja2 import StrictUndefined, Template  # noqa: PLC0415 -- only for a new project

    text = Path(__file__).with_name("project_template.toml.j2").read_text(encoding="utf-8")
    template: Template = Template(text, trim_blocks=True, keep_trailing_newline=True, undefined=StrictUndefined)
    return template


def _fine_tuning_values(bundle: Bundle, pairs: int, folder: Path) -> dict[str, Any]:
    """Return the values of a fine-tuning: about ten passes over the corpus."""
    updates = min(max(pairs * _TOKENS_PER_PAIR * _PASSES // _BATCH_TOKENS // 100 * 100, 200), 10_000)
    return {"bundle": _path(str(bundle.folder), folder), "updates": updates, "batch_tokens": _BATCH_TOKENS}


def _preset_values(preset: str, survey: CorpusSurvey) -> dict[str, Any]:
    """Return the values of a preset; `characters` if its tokenizer is too small for those of the corpus."""
    config = load_config(preset)
    settings = config.tokenizer
    needed = count_needed_tokens(survey.characters, settings.character_coverage)
    size = fitting_size(needed, settings.size)
    is_usual = settings.kind != "sentencepiece" or not settings.joint or size == settings.size
    return {
        "bundle": None,
        "preset": preset,
        "updates": config.training.max_updates,
        "size": settings.size if is_usual else size,
        "characters": 0 if is_usual else len(survey.characters),
    }


def check_held_out(
    name: str, files: Sequence[str], source: str, target: str, *, language_check: bool = True
) -> list[str]:
    """Read the files of the validation or the test set; reject wrong languages and order, or return warnings."""
    corpus, survey = CorpusConfig(files=[*files]), survey_corpus(files, source, target)
    if language_check:
        fix = "exchange the files" if file_format(corpus) == "lines" else "exchange its columns"
        _check_sides(survey, source, target, fix=f"{fix} of --{name}", name=name)
    found = _wrong_languages(survey, corpus, source, target, is_fixed=True, is_checked=language_check)
    return found + survey.warnings


def _exchange(corpus: CorpusConfig, *, is_fixed: bool) -> str:
    """Return the remedy for training files in the wrong order; with `is_fixed` the languages are right."""
    fix = "exchange the files"
    if file_format(corpus) in ("tsv", "csv"):
        fix = f"exchange the columns with --columns {shlex.join(corpus.columns[::-1] or ('2', '1'))}"
    return fix if is_fixed else f"{fix}, or exchange --source and --target"


def _check_sides(survey: CorpusSurvey, source: str, target: str, *, fix: str, name: str = "training") -> None:
    """Reject sides in the wrong order: the languages of the text are those given, for the other side."""
    if are_swapped([survey.languages.get(side) or "" for side in SIDES], (source, target)):
        raise ConfigError(swapped_problem(f"the {name} text", (source, target), fix))


def _wrong_languages(
    survey: CorpusSurvey, corpus: CorpusConfig, source: str, target: str, *, is_fixed: bool, is_checked: bool
) -> list[str]:
    """Return a warning for each side mostly in another language; reject it if that is certain, and `is_checked`."""
    found = []
    for side, code, other in (("source", source, target), ("target", target, source)):
        if warning := check_side(survey, corpus, side, code, other, is_fixed=is_fixed, is_checked=is_checked):
            found.append(warning)
    return found


def check_side(
    survey: CorpusSurvey,
    corpus: CorpusConfig,
    side: str,
    code: str,
    other: str | None,
    *,
    is_fixed: bool = False,
    is_checked: bool = True,
) -> str:
    """Return a warning if a side is mostly in another language than `code`; an error if certain and `is_checked`."""
    judged = survey.judged_side(side, code)
    name = corpus.files[SIDES.index(side)] if file_format(corpus) == "lines" else corpus.files[0]
    if not judged.other:
        script, intended = survey.other_script(side, code)
        fix = "convert it" if is_fixed else f"--{side} {intended} declares it"
        return f"the {side} of {name} looks like {script} Chinese, got {code}; {fix}" if script else ""
    problem = judged.problem(side, name)
    can_change = not is_fixed and (other is None or not is_same_language(judged.other, other))
    fix = f"write --{side} {judged.other}, or name another file" if can_change else "name another file"
    if is_checked and judged.share >= _CERTAIN and len(survey.samples[side]) >= _CERTAIN_TEXTS:
        raise ConfigError(f"{problem}; {fix}; if it is {code}, add --no-language-check")
    return f"{problem}; {fix}"


def _splits(pairs: int, *, has_validation: bool, has_test: bool) -> str:
    lines, some = [], suggested_pairs(pairs)
    origin = "taken from the training pairs" if some else "too few pairs to hold any out"
    if not has_validation:
        lines.append(f"validation_pairs = {some:_} # {origin}")
    if not has_test:
        lines.append(f"test_pairs = {some:_} # {origin}{', for dragoman evaluate' if some else ''}")
    return "\n".join(lines)


def suggested_pairs(pairs: int) -> int:
    """Return the size of a held-out set: at most 2,000 pairs and a twentieth of all; one if there are four or more."""
    return min(2000, max(pairs // 20, int(pairs >= 4)))


def _listed(files: Sequence[str], folder: Path) -> str:
    """Return paths for the configuration: relative for files in its folder, so that the folder can be moved."""
    return f"[{', '.join(json.dumps(file) if is_url(file) else _path(file, folder) for file in files)}]"


def _path(file: str, folder: Path) -> str:
    path, start = (_absolute(each) for each in (Path(file).expanduser(), folder))
    return json.dumps(str(path.relative_to(start) if path.is_relative_to(start) else path), ensure_ascii=False)


def _absolute(path: Path) -> Path:
    """Return an absolute path without ``..``; only a path that has it is resolved, so that others keep their links."""
    path = path.absolute()
    return path.resolve() if ".." in path.parts else path
