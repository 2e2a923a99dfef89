"""Convert the findings of a corpus check to advice: the problem, and the setting or file to change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dragoman.config import Config, OnBadLine, TrainingConfig
from dragoman.data.check.report_types import (
    BatchStatistics,
    CorpusReport,
    SelectionStatistics,
    TokenStatistics,
    TrainingCost,
)
from dragoman.data.preparation.tokenizer_notes import KEEP_OR_EXTEND, has_too_many_tokens
from dragoman.data.preparation.train_and_held_out_pairs import is_leak
from dragoman.data.readers.decode import REPLACED
from dragoman.data.reason_counts import header_warning
from dragoman.language_codes import primary_language
from dragoman.reporting.number_format import format_count, format_percent
from dragoman.text.chinese_script import other_script
from dragoman.text.language_scripts import language_scripts
from dragoman.text.other_language import is_detectable

__all__ = ["advise", "find_headers", "find_misuse", "is_small", "wrong_language"]

# Thresholds from which a value gets advice.
_FOREIGN = 0.1
_WRONG = 0.5
_CERTAIN = 0.8  # of text that looks like one language, if the expected one cannot be detected
_NO_TEXT = 0.5
_DROPPED = 0.3
_REPEATED = 0.3
_UNKNOWN = 0.01
_UNREADABLE = 0.5  # share of unknown tokens
_UNSEEN = 8.0  # times the share left uncovered: three or four bytes per character, and as much again by chance
_TOO_LONG = 0.01
_PADDING = 0.1
_HELD_OUT = 0.25
_FEW = 1000
_ENOUGH_BATCHES = 100
_A_LONG_TIME = 24 * 3600.0


def advise(
    config: Config,
    corpora: list[CorpusReport],
    selection: SelectionStatistics | None,
    tokens: TokenStatistics | None,
    batches: BatchStatistics | None,
    cost: TrainingCost | None,
) -> list[str]:
    """Return advice as sentences, the most urgent first."""
    assert config.data is not None
    found: list[str] = []
    for corpus in corpora:
        found += _about_corpus(corpus, *corpus.declared)
        if config.data.on_bad_line != "error":
            found += _about_encodings(corpus)
    if selection is not None and selection.cleaned:
        found += _about_selection(selection, config)
    if tokens is not None:
        found += _about_tokens(tokens, config)
    if batches is not None:
        found += _about_batches(batches, selection.kept if selection else 0, config.data.sampling.window)
    if cost is not None:
        found += _about_cost(cost)
    found += _about_schedule(config.training)
    return found


def find_headers(corpora: list[CorpusReport]) -> list[str]:
    """Return a warning for each corpus whose first row names its columns."""
    return [warning for corpus in corpora if (warning := header_warning(corpus.summary.notes))]


def find_misuse(corpora: list[CorpusReport], on_bad_line: OnBadLine = "error") -> list[str]:
    """Return errors of whole corpora: sides that are swapped or in another language, files that are no UTF-8 text."""
    found: list[str] = []
    for corpus in corpora:
        (source, target), summary = corpus.declared, corpus.summary
        bad = min(summary.records, summary.faults.total + summary.notes.counts.get(REPLACED, 0))
        is_unreadable = bad > _NO_TEXT * summary.records
        if corpus.encodings and (is_unreadable or on_bad_line == "error"):
            found += [
                f"{file} must be UTF-8, got {encoding} by its bytes; convert it with iconv -f {encoding} -t UTF-8, and "
                "name the new file"
                for file, encoding in corpus.encodings.items()
            ]
        elif is_unreadable:
            share = format_percent(bad, summary.records)
            found.append(f"{corpus.name} must be text, got bad lines only or mostly ({share}); name another file")
        elif corpus.looks_swapped:
            also = ", or exchange data.source and data.target" if corpus.role == "train" else ""
            found.append(
                f"the source of {corpus.name} must be {source} and its target {target}, got swapped sides; "
                f"{corpus.swap_fix}{also}"
            )
        else:
            found += _wrong_languages(corpus, {"source": source, "target": target})
    return found


def _wrong_languages(corpus: CorpusReport, declared: dict[str, str]) -> Iterator[str]:
    for side, language in declared.items():
        shares = corpus.languages.get(side, {})
        found = wrong_language(shares, language)
        if found and (is_detectable(language) or _has_other_script(found, language)):
            share = format_percent(shares[found])
            yield (
                f"the {side} of {corpus.side_name(side)} must be {language}, got {share} {found}; correct data.{side}, "
                "or name another file"
            )


def _has_other_script(found: str, language: str) -> bool:
    """Whether the scripts of both languages are known, and none of them is the same."""
    scripts, others = set(language_scripts(language)), set(language_scripts(found))
    return bool(scripts and others) and scripts.isdisjoint(others)


def _about_undetectable(corpus: CorpusReport, side: str, language: str) -> Iterator[str]:
    """Advise on text in a language that cannot be detected, and that looks like another one."""
    shares = corpus.languages.get(side, {})
    found = "" if is_detectable(language) else wrong_language(shares, language)
    if found and not _has_other_script(found, language):
        yield (
            f"{format_percent(shares[found])} of the {side} side of {corpus.side_name(side)} looks like {found}, and "
            f'{language} cannot be detected; if it is {found}, data.{side} = "{found}" declares it.'
        )


def wrong_language(shares: Mapping[str, float], language: str) -> str:
    """Return the most frequent language if most texts are not in the expected one, else nothing.

    If the expected language cannot be detected, 80 % of the texts must look like the other one.
    """
    most = max(shares, key=lambda other: shares[other], default="")
    if not is_detectable(language):
        is_other = most != primary_language(language) and shares.get(most, 0.0) >= _CERTAIN
        return most if is_other else ""
    return most if 1.0 - shares.get(primary_language(language), 0.0) > _WRONG else ""


def _about_batches(batches: BatchStatistics, pairs: int, window: int) -> Iterator[str]:
    if batches.padding > _PADDING and batches.batches >= _ENOUGH_BATCHES:
        remedy = "raise data.sampling.window" if window < pairs else "lower training.batch_tokens"
        yield f"{format_percent(batches.padding)} of a batch would be padding; {remedy} to have less."


def _about_schedule(training: TrainingConfig) -> Iterator[str]:
    if training.max_updates < training.warmup_updates:
        yield (
            f"Training ends after {training.max_updates:,} updates (training.max_updates), during the warm-up of "
            f"{training.warmup_updates:,}; lower training.warmup_updates."
        )


def _about_cost(cost: TrainingCost) -> Iterator[str]:
    if cost.is_busy:
        yield "The machine is busy with something else, so training may be much faster than predicted here."
    elif cost.seconds > _A_LONG_TIME:
        yield f"Training would take about {cost.seconds / 3600:,.0f} hours here; take a smaller preset, or a GPU."


def _about_script(corpus: CorpusReport, side: str, language: str) -> Iterator[str]:
    script = corpus.chinese_scripts.get(side)
    name, code = other_script(script, language) if script else ("", "")
    if name:
        yield (
            f"The {side} side of {corpus.side_name(side)} looks like {name} Chinese, and data.{side} is {language}; "
            f'data.{side} = "{code}" declares it.'
        )


def _about_corpus(corpus: CorpusReport, source: str, target: str) -> Iterator[str]:
    name, summary = corpus.name, corpus.summary
    yield from _about_script(corpus, "source", source)
    yield from _about_script(corpus, "target", target)
    for side, language in (("source", source), ("target", target)):
        yield from _about_undetectable(corpus, side, language)
    if not corpus.looks_swapped:
        for side, language in (("source", source), ("target", target)):
            shares = corpus.languages.get(side) if is_detectable(language) else None
            foreign = 1.0 - shares.get(primary_language(language), 0.0) if shares else 0.0
            if _FOREIGN < foreign <= _WRONG and corpus.role == "train":
                yield (
                    f"{format_percent(foreign)} of the {side} side of {corpus.side_name(side)} does not look like "
                    f"{language}; data.cleaning.language = true drops such pairs."
                )
    if summary.faults.total and not corpus.encodings:
        bad_lines = format_count(summary.faults.total, "bad line")
        yield f"{name} has {bad_lines}: correct them, or skip them with --on-bad-line skip."
    shifted = [reason for reason in summary.notes.counts if "shifted" in reason]
    if header := header_warning(summary.notes):
        yield f"{header}."
    if shifted:
        places = summary.notes.examples[shifted[0]]
        shown = ", ".join(example.place for example in places[:3])
        yield f"{name} looks misaligned at {shown}: check these lines and those before them."
    if corpus.role == "train" and summary.records and summary.drops.total > _DROPPED * summary.records:
        share = summary.drops.total / summary.records
        yield f"Cleaning would drop {format_percent(share)} of {name}; --output check.html has samples of each reason."


def _about_encodings(corpus: CorpusReport) -> Iterator[str]:
    for file, encoding in corpus.encodings.items():
        yield f"{file} looks like {encoding} text; iconv -f {encoding} -t UTF-8 converts it."


def is_small(selection: SelectionStatistics, config: Config) -> bool:
    """Whether the pairs are too few for a useful model; an existing one can be fine-tuned with few."""
    return selection.kept < _FEW and config.start is None


def _about_selection(selection: SelectionStatistics, config: Config) -> Iterator[str]:
    assert config.data is not None
    leaked = sum(count for reason, count in selection.drops.counts.items() if is_leak(reason))
    if leaked:
        yield f"{format_count(leaked, 'training pair')} with text of a held-out set will be left out of training."
    if selection.set_aside > _HELD_OUT * selection.cleaned:
        yield f"{selection.set_aside:,} of {selection.cleaned:,} training pairs are held out; hold out fewer."
    if is_small(selection, config):
        yield f"{format_count(selection.kept, 'pair')} are too few for a useful model; start with a few thousand."
    if config.data.cleaning.leakage == "keep":
        yield "Training pairs that leak from held-out sets are kept (cleaning.leakage): scores will flatter."
    repeated = sum(count for reason, count in selection.drops.counts.items() if "duplicate" in reason)
    if repeated > _REPEATED * max(1, selection.cleaned):
        yield f"{format_percent(repeated / selection.cleaned)} of the pairs are duplicates; is a file named twice?"


def _about_tokens(tokens: TokenStatistics, config: Config) -> Iterator[str]:
    for side, share in tokens.unknown.items():
        if share > _UNKNOWN:
            unknown = f"{format_percent(share)} of the {side} tokens in held-out text"
            yield f"{unknown} are unknown or bytes; {_remedy(config, share)}."
    for side, per_word in tokens.per_word.items():
        if has_too_many_tokens(tokens.kind, per_word):
            split = f"{per_word:.1f} tokens per word on the {side} side"
            yield f"{split} make training slow and inexact; {_more_tokens(config)}."
    smallest = min(tokens.vocabulary.values())
    if config.start is None and config.tokenizer.kind == "sentencepiece" and smallest < config.tokenizer.size:
        yield f"The text gives {smallest:,} tokens, fewer than the {config.tokenizer.size:,} of tokenizer.size."
    if tokens.too_long > _TOO_LONG * max(1, tokens.sampled):
        share = tokens.too_long / tokens.sampled
        yield f"{format_percent(share)} of the pairs exceed data.max_tokens and would be dropped; raise it."


def _more_tokens(config: Config) -> str:
    if config.start is not None or config.tokenizer.kind != "sentencepiece":
        return _remedy(config)
    return f"raise tokenizer.size, for instance to {2 * config.tokenizer.size}"


def _remedy(config: Config, unknown: float = 0.0) -> str:
    """Return the setting that reduces unknown tokens."""
    if config.start is not None and config.start.vocabulary == "same" and unknown > _UNREADABLE:
        return 'the bundle cannot read this text, so start from another one, or set start.vocabulary = "extend"'
    if config.start is not None:
        return "raise start.new_tokens" if config.start.vocabulary == "extend" else KEEP_OR_EXTEND
    if config.tokenizer.kind != "sentencepiece":
        return "raise tokenizer.size"
    if unknown > _UNSEEN * (1.0 - config.tokenizer.character_coverage):
        return "most of their characters are not in the training text, so more text is needed"
    return "raise tokenizer.character_coverage"
