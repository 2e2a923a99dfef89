"""Print alignment error rates and the ranking of attention heads."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import get_args

from dragoman.api.alignment.align_pairs import RankedHead, align_pairs, attention_both_ways, rank_heads
from dragoman.api.alignment.word_attention import OnPairs
from dragoman.api.translation.translator import Translator
from dragoman.cli.console import echo, print_json, print_table
from dragoman.cli.screens.progress import ProgressDisplay
from dragoman.config.alignment import AlignmentSettings, AttentionChoice, Symmetrization
from dragoman.evaluation.alignment.error_rate import AlignmentScores, GoldLinks, score_alignment
from dragoman.evaluation.alignment.extraction import swapped

_SCORES = ("AER", "precision", "recall", "F1")
_MAX_RANKED = 20


@dataclass(frozen=True)
class AlignmentTask:
    """Sentence pairs with gold links, and the translators and settings that align them."""

    forward: Translator
    backward: Translator | None
    sources: Sequence[str]
    targets: Sequence[str]
    gold: Sequence[GoldLinks]
    settings: AlignmentSettings

    @contextmanager
    def progress(self, rounds: int) -> Iterator[OnPairs]:
        """Show progress on stderr; every pair is aligned `rounds` times."""
        total, done = rounds * max(1, len(self.sources)), 0
        with ProgressDisplay(unit="pair") as screen:
            screen.begin("aligning", share=0.0, pairs=0)

            def tell(pairs: int) -> None:
                nonlocal done
                done += pairs
                screen.advance(done / total, done // rounds)

            yield tell


def print_errors(task: AlignmentTask, *, every: bool, json: bool) -> None:
    """Print the scores of each direction and of their symmetrization: `every` method, or the one of the settings."""
    settings, gold = task.settings, task.gold
    with task.progress(1 if task.backward is None else 2) as tell:
        maps = attention_both_ways(task.forward, task.backward, task.sources, task.targets, settings, on_pairs=tell)
    errors = {"forward": score_alignment([ahead.links(settings) for ahead, _ in maps], gold)}
    if task.backward is not None:
        back = [swapped(other.links(settings)) for _, other in maps if other is not None]
        errors["backward"] = score_alignment(back, gold)
        for name in _methods(settings) if every else [settings.symmetrization]:
            chosen = settings.model_copy(update={"symmetrization": name})
            errors[name] = score_alignment([ahead.links_with(other, chosen) for ahead, other in maps], gold)
    if json:
        print_json({name: error.to_json() for name, error in errors.items()})
    else:
        _print_scores(["links"], [([name], error) for name, error in errors.items()])


def print_ranking(task: AlignmentTask, *, json: bool) -> None:
    """Print the maps by error rate; with two translators also the symmetrization of the best maps."""
    with task.progress(1 if task.backward is None else 4) as tell:
        ranks = {
            "forward": rank_heads(task.forward, task.sources, task.targets, task.gold, task.settings, on_pairs=tell)
        }
        combined = None
        if task.backward is not None:
            swapped_gold = [each.swapped() for each in task.gold]
            ranks["backward"] = rank_heads(
                task.backward, task.targets, task.sources, swapped_gold, task.settings, on_pairs=tell
            )
            combined = _combine(task, ranks["forward"][0].choice, ranks["backward"][0].choice, tell)
    if json:
        value: dict[str, object] = {name: [each.to_json() for each in ranked] for name, ranked in ranks.items()}
        print_json(value if combined is None else value | {"both": combined.to_json()})
        return
    for name, ranked in ranks.items():
        _print_ranking(ranked, name if len(ranks) > 1 else "")
    if combined is not None:
        _print_scores(["best of both"], [([task.settings.symmetrization], combined)])


def _methods(settings: AlignmentSettings) -> list[Symmetrization]:
    methods: tuple[Symmetrization, ...] = get_args(Symmetrization)
    return [method for method in methods if method != "product" or settings.extraction == "argmax"]


def _combine(
    task: AlignmentTask, forward: AttentionChoice, backward: AttentionChoice, tell: OnPairs
) -> AlignmentScores:
    settings = task.settings.with_choices(forward, backward)
    links = align_pairs(task.forward, task.backward, task.sources, task.targets, settings, on_pairs=tell)
    return score_alignment(links, task.gold)


def _print_ranking(ranked: Sequence[RankedHead], title: str) -> None:
    if title:
        echo(title)
    rows = [
        ([str(each.choice.layer), _head(each.choice), each.choice.reading], each.error) for each in ranked[:_MAX_RANKED]
    ]
    _print_scores(["layer", "head", "reading"], rows)
    if title:
        echo()
    best = ranked[0].choice
    option = "--backward-" if title == "backward" else "--"
    chosen = {"layer": best.layer, "head": _head(best), "reading": best.reading}
    more = f"; {len(ranked) - _MAX_RANKED} more maps with --json" if len(ranked) > _MAX_RANKED else ""
    echo("best  " + " ".join(f"{option}{name} {value}" for name, value in chosen.items()) + more, err=True)


def _head(choice: AttentionChoice) -> str:
    return "mean" if choice.head is None else str(choice.head)


def _print_scores(names: Sequence[str], rows: Sequence[tuple[Sequence[str], AlignmentScores]]) -> None:
    lines = [[*names, *_SCORES]]
    for cells, error in rows:
        lines.append([*cells, *(f"{value:.3f}" for value in (error.aer, error.precision, error.recall, error.f1))])
    print_table(lines, right=frozenset(range(len(names), len(names) + len(_SCORES))))
