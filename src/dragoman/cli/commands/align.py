"""`dragoman align`: align the words of sentence pairs."""

from __future__ import annotations

import json as json_
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

from dragoman.cli.console import echo, print_json, print_table, report_errors
from dragoman.cli.options.arguments import BundlePath, Ensemble, JsonLines, SourceText, TargetText, one_of, option
from dragoman.cli.options.derive import named_as_typed, settings_options
from dragoman.cli.options.models import note_swapped_sides, open_translator
from dragoman.cli.options.outputs import Force, check_output, output_option, stdout_to
from dragoman.config.alignment import AlignmentSettings, Symmetrization
from dragoman.config.engine import EngineSettings
from dragoman.config.settings_sources import flag_name
from dragoman.errors import ConfigError

if TYPE_CHECKING:
    from dragoman.api.files.parallel_lines import LinePairs
    from dragoman.api.translation.translator import Translator

_LINKS, _GOLD = "Links", "Evaluation against gold links"
_ENDINGS = (".txt", ".json", ".jsonl")
_MAPS = ("layer", "head", "reading")
_REQUIRED = {"symmetrization": "backward", "gold_from": "gold"}

Output = Annotated[Path | None, output_option(_ENDINGS)]
Backward = Annotated[Path | None, option("BUNDLE", "Model from target to source: combine links of both.", panel=_LINKS)]
GoldFile = Annotated[Path | None, option("FILE", "Gold links: print alignment errors instead of links.", panel=_GOLD)]
GoldFrom = Annotated[
    int | None,
    option("0|1", "Number of the first word in gold links.", panel=_GOLD, default="0; naacl: 1", parser=one_of(0, 1)),
]


@settings_options(settings=AlignmentSettings, engine=EngineSettings, exclude={"batch_tokens", "shortlist"})
def align(  # noqa: PLR0913 -- one parameter per option
    bundle: BundlePath,
    source: SourceText,
    target: TargetText = None,
    *,
    ensemble: Ensemble = None,
    output: Output = None,
    force: Force = False,
    json: JsonLines = False,
    backward: Backward = None,
    gold: GoldFile = None,
    gold_from: GoldFrom = None,
    settings: AlignmentSettings,
    engine: EngineSettings,
) -> None:
    """Print word alignments of sentence pairs.

    Each line has the links of one pair, source-target, counted from 0: 0-0 1-2 2-1. dragoman translate --alignments
    has those of --reading predicted. With --gold, print alignment error rate, precision, recall and F1 instead.
    """
    given: dict[str, Any] = {"backward": backward, "gold": gold, "gold_from": gold_from}
    given |= {name: getattr(settings, name) for name in settings.model_fields_set}
    given = {name: value for name, value in given.items() if value is not None}
    with report_errors("start it again"):
        _check(given)
        if output is not None:
            check_output(output, _ENDINGS, force=force)
            json = json or output.suffix.lower() != ".txt"
        if gold is not None and "words" not in given:
            settings = settings.model_copy(update={"words": "spaces"})
        if not settings.is_usual:
            _check_engine(given, has_ensemble=bool(ensemble), engine=engine)
            engine = engine.model_copy(update={"engine": "torch"})
        from dragoman.api.files.parallel_lines import read_pairs

        work = _Alignment(
            read_pairs(source, target),
            source,
            lambda: open_translator(bundle, ensemble, engine),
            lambda: None if backward is None else open_translator(backward, None, engine.reversed()),
            settings,
            json=json,
            in_one_file=target is None,
        )
        with stdout_to(output):
            if not given:
                work.print_usual_links()
            elif gold is None:
                work.print_links()
            else:
                work.print_errors(given)


@dataclass(frozen=True)
class _Alignment:
    """Sentence pairs and the models that align them. Models are opened after all options are checked."""

    pairs: Iterator[LinePairs]
    source: str
    forward: Callable[[], Translator]
    backward: Callable[[], Translator | None]
    settings: AlignmentSettings
    json: bool
    in_one_file: bool

    def print_usual_links(self) -> None:
        """Print the links of `Translator.align`, with scores in JSON."""
        from dragoman.api.files.output_lines import format_links
        from dragoman.api.files.parallel_lines import score_pairs

        forward = self.forward()
        for scored in score_pairs(forward, self._noted_pairs(forward), self.source, alignment=True):
            if scored.alignment is None:
                raise ConfigError("this model has no attention to align words with; use one that has")
            echo(json_.dumps(scored.to_json(), ensure_ascii=False) if self.json else format_links(scored.alignment))

    def print_links(self) -> None:
        """Print the links of the chosen maps, of both directions if there are two models."""
        from dragoman.api.alignment.align_pairs import attention_both_ways
        from dragoman.evaluation.word_alignment import pharaoh_line

        forward, backward = self.forward(), self.backward()
        before = 0
        for some in self._noted_pairs(forward):
            sources, targets = [one for one, _ in some], [other for _, other in some]
            with self._lines_named(before):
                maps = attention_both_ways(forward, backward, sources, targets, self.settings)
            for ahead, behind in maps:
                links = ahead.links_with(behind, self.settings.symmetrization)
                words = {"source_words": ahead.source_words, "target_words": ahead.target_words, "alignment": links}
                echo(json_.dumps(words, ensure_ascii=False) if self.json else pharaoh_line(links))
            before += len(some)

    def print_errors(self, given: dict[str, Any]) -> None:
        """Print the errors of each direction against gold links, and of the chosen symmetrization or of all."""
        from dragoman.api.alignment.align_pairs import attention_both_ways, read_gold
        from dragoman.cli.screens.progress import ProgressDisplay
        from dragoman.evaluation.word_alignment import score_alignment, swapped

        settings, forward = self.settings, self.forward()
        pairs = [pair for some in self._noted_pairs(forward) for pair in some]
        sources, targets = [one for one, _ in pairs], [other for _, other in pairs]
        first = given.get("gold_from")
        gold = read_gold(given["gold"], sources, targets, first=first, by_spaces=settings.by_spaces)
        backward, done = self.backward(), 0
        rounds = 1 if backward is None else 2
        with self._lines_named(0), ProgressDisplay(unit="pair") as screen:
            screen.begin("aligning", share=0.0, pairs=0)

            def tell(count: int) -> None:
                nonlocal done
                done += count
                screen.advance(done / (rounds * len(pairs)), done // rounds)

            maps = attention_both_ways(forward, backward, sources, targets, settings, on_pairs=tell)
        errors = {"forward": score_alignment([ahead.links for ahead, _ in maps], gold)}
        if backward is not None:
            back = [swapped(other.links) for _, other in maps if other is not None]
            errors["backward"] = score_alignment(back, gold)
            methods = [settings.symmetrization] if "symmetrization" in given else get_args(Symmetrization)
            for name in methods:
                errors[name] = score_alignment([ahead.links_with(other, name) for ahead, other in maps], gold)
        if self.json:
            print_json({name: each.to_json() for name, each in errors.items()})
            return
        rows = [
            (name, *(f"{value:.3f}" for value in (each.aer, each.precision, each.recall, each.f1)))
            for name, each in errors.items()
        ]
        print_table([("links", "AER", "precision", "recall", "F1"), *rows], right=frozenset({1, 2, 3, 4}))

    def _noted_pairs(self, forward: Translator) -> Iterator[LinePairs]:
        return note_swapped_sides(self.pairs, forward.languages, in_one_file=self.in_one_file)

    @contextmanager
    def _lines_named(self, before: int) -> Iterator[None]:
        """Name a pair that cannot be aligned by its line, and a wrong setting by its option."""
        from dragoman.api.files.parallel_lines import errors_by_line

        with errors_by_line(self.source, before), named_as_typed(*AlignmentSettings.model_fields):
            yield


def _check(given: dict[str, Any]) -> None:
    """Reject options without effect."""
    for name, required in _REQUIRED.items():
        if name in given and required not in given:
            raise ConfigError(f"{flag_name(name)} needs --{required}; add that one, or leave this out")


def _check_engine(given: dict[str, Any], *, has_ensemble: bool, engine: EngineSettings) -> None:
    """Reject attention maps and words that an ensemble, or the chosen engine, cannot provide."""
    chosen = [flag_name(name) for name in _MAPS if name in given]
    what = chosen[0] if chosen else "--words spaces" if "words" in given else "--gold"
    usual = ", or add --words usual" if what == "--gold" else ""
    if has_ensemble:
        raise ConfigError(
            f"{what} needs one model: an ensemble has one attention map only; leave out --ensemble{usual}"
        )
    if engine.engine not in {"auto", "torch"}:
        raise ConfigError(
            f"--engine must be torch with {what}, got {engine.engine}; use --engine torch, or leave it out{usual}"
        )
