"""Convert the findings of a corpus check to advice: the problem, and the setting or file to change."""

from collections.abc import Iterator

from dragoman.config import Config, OnBadLine, TrainingConfig
from dragoman.data.check.report_types import (
    BatchStatistics,
    CorpusReport,
    SelectionStatistics,
    TokenStatistics,
    TrainingCost,
)
from dragoman.data.preparation.selected_pairs import is_leak
from dragoman.data.preparation.tokenizer_stage import KEEP_OR_EXTEND, has_too_many_tokens
from dragoman.data.reason_counts import header_warning
from dragoman.reporting.number_format import format_count, format_percent
from dragoman.text.language_scripts import other_script
from dragoman.text.other_language import SideLanguage, is_detectable, swapped_problem

# Thresholds from which a value gets advice.
_FOREIGN = 0.1
_NO_TEXT = 0.5
_DROPPED = 0.3
_REPEATED = 0.3
_UNKNOWN = 0.01
_UNWRITABLE = 0.002  # of tokens that a base model cannot write at all, such as the braces of placeholders
_UNREADABLE = 0.5  # share of unknown tokens
_BYTES_OF_RARE_CHARACTERS = 8.0  # per uncovered character: three or four, and as much again by chance
_TOO_LONG = 0.01
_PADDING = 0.1
_HELD_OUT = 0.25
_FEW_PAIRS = 1000
_ENOUGH_BATCHES = 100
_A_LONG_TIME = 24 * 3600.0
_EXTEND = (
    'the base model cannot write them, so set start.vocabulary = "extend" (measured on messages with placeholders: '
    "71.1 BLEU with it, 49.7 without)"
)


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
        found += _about_corpus(corpus)
        if config.data.on_bad_line != "error":
            found += [
                f"{file} looks like {encoding} text; iconv -f {encoding} -t UTF-8 converts it."
                for file, encoding in corpus.encodings.items()
            ]
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
        summary = corpus.summary
        bad = summary.faults.total
        is_unreadable = bad > _NO_TEXT * summary.records
        if corpus.encodings and (is_unreadable or on_bad_line == "error"):
            found += [
                f"{file} must be UTF-8, got {encoding} by its bytes; convert it with iconv -f {encoding} -t UTF-8, and "
                "name the new file"
                for file, encoding in corpus.encodings.items()
            ]
        elif is_unreadable:
            reason = max(summary.faults.counts, key=summary.faults.counts.__getitem__)
            share = format_percent(bad, summary.records)
            found.append(
                f"{corpus.name} must be text, got bad lines only or mostly ({share}, most of them: {reason}); name "
                "another file or another format"
            )
        elif corpus.looks_swapped:
            also = ", or exchange data.source and data.target" if corpus.role == "train" else ""
            found.append(swapped_problem(corpus.name, corpus.declared, f"{corpus.swap_fix}{also}"))
        else:
            found += [
                f"{judged.problem(side, corpus.side_name(side))}; correct data.{side}, or name another file"
                for side, judged in corpus.judged_sides()
                if judged.is_wrong
            ]
    return found


def _about_undetectable(name: str, side: str, judged: SideLanguage) -> Iterator[str]:
    """Advise on text in a language that cannot be detected, and that looks like another one."""
    if judged.other and not is_detectable(judged.declared) and not judged.is_wrong:
        yield (
            f"{format_percent(judged.share)} of the {side} side of {name} looks like {judged.other}, and "
            f"{judged.declared} cannot be detected; if it is {judged.other}, data.{side} = "
            f'"{judged.other}" declares it.'
        )


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


def _about_script(name: str, side: str, language: str, script: str) -> Iterator[str]:
    chinese, code = other_script(script, language) if script else ("", "")
    if chinese:
        yield (
            f"The {side} side of {name} looks like {chinese} Chinese, and data.{side} is {language}; "
            f'data.{side} = "{code}" declares it.'
        )


def _about_corpus(corpus: CorpusReport) -> Iterator[str]:
    name, summary = corpus.name, corpus.summary
    for side, judged in corpus.judged_sides():
        file = corpus.side_name(side)
        yield from _about_script(file, side, judged.declared, corpus.chinese_scripts.get(side, ""))
        yield from _about_undetectable(file, side, judged)
        is_told = corpus.looks_swapped or bool(judged.other) or not is_detectable(judged.declared)
        if corpus.role == "train" and not is_told and judged.foreign > _FOREIGN:
            yield (
                f"{format_percent(judged.foreign)} of the {side} side of {file} does not look like {judged.declared}; "
                "data.cleaning.language = true drops such pairs."
            )
    if summary.faults.total and not corpus.encodings:
        bad_lines = format_count(summary.faults.total, "bad line")
        them = "it" if summary.faults.total == 1 else "them"
        yield f"{name} has {bad_lines}: correct {them}, or skip {them} with --on-bad-line skip."
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


def is_small(selection: SelectionStatistics, config: Config) -> bool:
    """Whether the pairs are too few for a useful model; an existing one can be fine-tuned with few."""
    return selection.kept < _FEW_PAIRS and config.start is None


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
    is_fixed = config.start is not None and config.start.vocabulary == "same"
    for side, share in tokens.unknown.items():
        if share > (_UNWRITABLE if is_fixed else _UNKNOWN):
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
    if config.start is not None and config.start.vocabulary == "same" and unknown:
        return _EXTEND
    if config.start is not None:
        return "raise start.new_tokens" if config.start.vocabulary == "extend" else KEEP_OR_EXTEND
    if config.tokenizer.kind != "sentencepiece":
        return "raise tokenizer.size"
    if unknown > _BYTES_OF_RARE_CHARACTERS * (1.0 - config.tokenizer.character_coverage):
        return "most of their characters are not in the training text, so more text is needed"
    return "raise tokenizer.character_coverage"
