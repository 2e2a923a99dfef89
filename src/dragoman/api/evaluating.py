"""Evaluating: systems against a test set, in figures that others can compute again."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Unpack

from dragoman.api.counting import Counting
from dragoman.api.evaluated_member import Subject, Translated, open_subject, translated
from dragoman.api.evaluation_plan import EvaluateOptions, EvaluatePlan, check_language, check_plan
from dragoman.api.systems import System
from dragoman.api.translator import Translator
from dragoman.api.versions import package_versions
from dragoman.data.progress import Progress, Silent
from dragoman.environment import machine
from dragoman.errors import ConfigError
from dragoman.evaluation.by_length import by_length_of
from dragoman.evaluation.metrics import Score, score_of
from dragoman.evaluation.probes import judged
from dragoman.evaluation.report import Evaluation, LengthScores, Member, PairedResult, Probe, SystemScores
from dragoman.evaluation.sentence_statistics import Statistics
from dragoman.evaluation.significance import paired_result
from dragoman.evaluation.spread import spread, welch
from dragoman.evaluation.weakest import weakest_result
from dragoman.search.settings import SearchSettings

__all__ = ["evaluate"]

_OF_PARTS = ("bleu", "chrf")  # what lengths and probes are scored by: TER takes longest and says least of a few

_Place = tuple[str, int]
"""A member: the name of its system, and its place there. Names of members may be alike, "x 1" may be a system."""


@dataclass
class _Clock:
    """Seconds by what they were spent on."""

    began: float = field(default_factory=time.perf_counter)
    spent: dict[str, float] = field(default_factory=lambda: {"translating": 0.0, "scoring": 0.0})

    def add(self, what: str, since: float) -> None:
        self.spent[what] += time.perf_counter() - since

    def seconds(self) -> dict[str, float]:
        return {"all": time.perf_counter() - self.began} | self.spent


def evaluate(
    systems: Sequence[System], sources: Sequence[str], references: Sequence[str], **options: Unpack[EvaluateOptions]
) -> Evaluation:
    """Score systems against references; with several, say how each differs from the baseline.

    Bundles translate the sources; files of translations are taken as they are. Options, files and bundles are checked
    before anything is translated; only whether the engine can run a model shows when its turn comes. Every figure but
    those of speed is a function of the files and the options.
    """
    plan = EvaluatePlan(**options)
    clock = _Clock()
    check_plan(systems, sources, references, plan)
    subjects = {system.name: _opened(system, len(sources)) for system in systems}
    languages = plan.languages or _languages(subjects)
    check_language(languages[1], plan)
    bench = _Bench(plan, sources, references, languages, clock)
    members = {
        name: [bench.member(subject, (name, place)) for place, subject in enumerate(some)]
        for name, some in subjects.items()
    }
    baseline = (plan.baseline or systems[0].name) if len(systems) > 1 else None
    began = time.perf_counter()
    if baseline is not None:
        members = bench.compared(members, baseline)
    found = tuple(_system(name, some, members[baseline] if baseline else None) for name, some in members.items())
    clock.add("scoring", began)
    return Evaluation(
        test=plan.name,
        sentences=len(sources),
        source_digest=_digest(sources),
        reference_digest=_digest(references),
        systems=found,
        baseline=baseline,
        search=(plan.settings or SearchSettings()).model_dump(),
        versions=package_versions(),
        machine=machine(accelerators=False).signature,
        command=plan.command,
        languages=languages,
        resamples=plan.resamples,
        seconds=clock.seconds(),
    )


@dataclass(frozen=True)
class _Bench:
    """The test set and the plan, before which one member after the other comes."""

    plan: EvaluatePlan
    sources: Sequence[str]
    references: Sequence[str]
    languages: tuple[str, str]
    clock: _Clock
    statistics: dict[_Place, tuple[Statistics, ...]] = field(default_factory=dict)
    """Of every member, counted once, for scores, bins and tests."""

    def member(self, subject: Subject, place: _Place) -> Member:
        """Translate where that is needed, and score."""
        with Counting(self.references, metrics=self.plan.metrics, language=self.languages[1]) as counting:
            result = self._translations(subject, counting)
            self.progress.begin(f"scoring {subject.name}")
            began = time.perf_counter()
            self.statistics[place] = counting.statistics()
            self.clock.add("scoring", began)
        return self._scored(subject, result, self.statistics[place])

    def _scored(self, subject: Subject, result: Translated, statistics: Sequence[Statistics]) -> Member:
        began = time.perf_counter()
        scores = tuple(score_of(each, resamples=self.plan.resamples) for each in statistics)
        lengths: tuple[LengthScores, ...] = ()
        if self.plan.by_length:
            parts = [each for each in statistics if each.metric in _OF_PARTS]
            lengths = by_length_of(self.sources, parts, resamples=self.plan.resamples)
        probes = self._probes(result)
        self.clock.add("scoring", began)
        return Member(
            name=subject.name,
            digest=subject.digest,
            scores=(*scores, *self._comet(result)),
            hypotheses=tuple(result.hypotheses),
            seed=subject.seed,
            parameters=subject.parameters(),
            by_length=lengths,
            flags=None if result.flags is None else dict(result.flags.most_common()),
            probes=probes,
            speed=result.speed,
            path=str(subject.path),
        )

    def compared(self, members: Mapping[str, list[Member]], baseline: str) -> dict[str, list[Member]]:
        """The members with their differences from the baseline's.

        Where both have several, each is held against the baseline's in its place: over seeds it is Welch's test that
        counts. One alone is held against all of the baseline's, as it is shown beside their mean.
        """
        self.progress.begin(f"comparing with {baseline}")
        base = [(baseline, place) for place in range(len(members[baseline]))]
        compared: dict[str, list[Member]] = {}
        for name, some in members.items():
            if name == baseline:
                compared[name] = some
                continue
            matched = [[base[place if place < len(base) else 0]] for place in range(len(some))]
            compared[name] = [
                replace(member, against_baseline=self._tests(against, (name, place)))
                for place, (member, against) in enumerate(zip(some, [base] if len(some) == 1 else matched, strict=True))
            ]
        return compared

    def _tests(self, base: Sequence[_Place], member: _Place) -> tuple[PairedResult, ...]:
        """A result a metric, the weakest where the member is held against several."""
        results = [
            [
                paired_result(*pair, test=self.plan.test, trials=self.plan.trials)
                for pair in zip(self.statistics[each], self.statistics[member], strict=True)
            ]
            for each in base
        ]
        return tuple(weakest_result(found) for found in zip(*results, strict=True))

    def _translations(self, subject: Subject, counting: Counting) -> Translated:
        if subject.lines is not None:
            counting.add(subject.lines)
            return Translated(list(subject.lines))
        assert subject.bundle is not None
        plan, progress, began = self.plan, self.progress, time.perf_counter()
        progress.begin(f"opening {subject.name}")
        translator = Translator.open(
            subject.bundle,
            engine=plan.engine,
            precision=plan.precision,
            threads=plan.threads,
            settings=plan.settings,
            batch_tokens=plan.batch_tokens,
        )
        if plan.tell is not None:
            for line in _said(translator):
                plan.tell(line)
        progress.begin(f"translating with {subject.name}")
        result = translated(
            translator, self.sources, flags=plan.flags, probes=plan.probes, progress=progress, counting=counting
        )
        self.clock.add("translating", began)
        return result

    def _probes(self, result: Translated) -> tuple[Probe, ...]:
        return tuple(
            judged(
                name,
                probed.spoilt,
                probed.answers,
                [result.hypotheses[place] for place in probed.places],
                [self.references[place] for place in probed.places],
                metrics=self._of_parts(),
                language=self.languages[1],
            )
            for name, probed in result.probes.items()
        )

    def _comet(self, result: Translated) -> tuple[Score, ...]:
        if self.plan.comet is None:
            return ()
        began = time.perf_counter()
        score = self.plan.comet.score(self.sources, result.hypotheses, self.references)
        self.clock.add("scoring", began)
        return (score,)

    @property
    def progress(self) -> Progress:
        return self.plan.progress or Silent()

    def _of_parts(self) -> tuple[str, ...]:
        return tuple(metric for metric in self.plan.metrics if metric in _OF_PARTS)


def _opened(system: System, sentences: int) -> list[Subject]:
    several = len(system.members) > 1
    return [
        open_subject(path, f"{system.name} {number}" if several else system.name, sentences)
        for number, path in enumerate(system.members, 1)
    ]


def _languages(subjects: Mapping[str, list[Subject]]) -> tuple[str, str]:
    """What the bundles translate from and into; all must do the same."""
    found = {each.languages: each.name for some in subjects.values() for each in some if each.languages is not None}
    if len(found) > 1:
        said = ", ".join(f"{'-'.join(languages)} ({name})" for languages, name in found.items())
        raise ConfigError(f"systems must translate between the same two languages, got {said}; evaluate them apart")
    return next(iter(found), ("", ""))


def _system(name: str, members: Sequence[Member], base: Sequence[Member] | None) -> SystemScores:
    values = _values(members)
    differ: dict[str, float] = {}
    if base is not None and base is not members:
        for metric, others in _values(base).items():
            p_value = welch(others, values[metric])
            if p_value is not None:
                differ[metric] = p_value
    spreads = tuple(spread(metric, found) for metric, found in values.items())
    return SystemScores(name, tuple(members), spreads, differ)


def _values(members: Sequence[Member]) -> dict[str, list[float]]:
    """Every metric's score of each member."""
    values: dict[str, list[float]] = {}
    for member in members:
        for score in member.scores:
            values.setdefault(score.name, []).append(score.value)
    return values


def _said(translator: Translator) -> Iterator[str]:
    yield f"engine  {translator.why}"
    if getattr(translator.engine, "has_new_export", False):  # files were written that nobody asked for
        yield f"export  {getattr(translator.engine, 'note', '')}"


def _digest(lines: Sequence[str]) -> str:
    return hashlib.sha256("".join(f"{line}\n" for line in lines).encode("utf-8", "surrogatepass")).hexdigest()
