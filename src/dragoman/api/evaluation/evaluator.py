"""Score translation systems on a test set, and test whether they differ significantly from the baseline."""

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dragoman.api.evaluation.member_run import EvaluatedMember, TestOutput, open_member, translate_test_set
from dragoman.api.evaluation.precheck import (
    check_language,
    check_systems,
    copied_side_note,
    language_notes,
    output_language_note,
    useless_scores_note,
)
from dragoman.api.evaluation.system_arguments import System
from dragoman.api.translation.translator import Translator
from dragoman.config.corpus import Direction
from dragoman.config.engine import EngineSettings
from dragoman.config.evaluation import EvaluationSettings
from dragoman.config.search import SearchSettings, replace_search, search_for_model
from dragoman.config.validation_errors import SettingError, validate
from dragoman.engines.directions import choose_direction, in_direction
from dragoman.environment import machine_info, package_versions
from dragoman.errors import ConfigError
from dragoman.evaluation.aggregate_members import combine_members, weakest_test
from dragoman.evaluation.metrics.comet import Comet
from dragoman.evaluation.metrics.corpus_scores import compute_score, scores_by_length
from dragoman.evaluation.results import (
    Evaluation,
    LengthBin,
    MemberResult,
    Perturbation,
    Score,
    SignificanceTest,
    TestSet,
)
from dragoman.evaluation.robustness import score_perturbation
from dragoman.evaluation.significance import Statistics, corpus_statistics, paired_test
from dragoman.progress import NoProgress, Progress

_SUBSET_METRICS = (
    "bleu",
    "chrf",
)  # of length bins and perturbations: TER is the slowest and least informative for few texts

_LISTED_DIRECTIONS = 12

_MemberKey = tuple[str, int]
"""The name of a system and the index of the member; names of members are not unique, "x 1" may be a system."""


@dataclass
class _Timer:
    """Wall-clock seconds by activity."""

    began: float = field(default_factory=time.perf_counter)
    spent: dict[str, float] = field(default_factory=lambda: {"translating": 0.0, "scoring": 0.0})

    def add(self, activity: str, since: float) -> None:
        self.spent[activity] += time.perf_counter() - since

    def seconds(self) -> dict[str, float]:
        return {"all": time.perf_counter() - self.began} | self.spent


def evaluate_systems(  # noqa: PLR0913 -- one argument per concern
    systems: Sequence[System],
    sources: Sequence[str],
    references: Sequence[str],
    settings: EvaluationSettings | None = None,
    *,
    search: SearchSettings | None = None,
    engine: EngineSettings | None = None,
    progress: Progress | None = None,
    tell: Callable[[str], None] | None = None,
    name: str = "",
    command: str = "",
    **options: Any,
) -> Evaluation:
    """Score systems against references and test each against the baseline.

    Bundles translate the sources; files of translations are scored unchanged. Settings, files and bundles are checked
    before anything is translated, except whether the engine can run a model. All results except throughput are a
    function of the files and the settings.
    """
    settings = settings or validate(EvaluationSettings, options)
    comet = None if settings.comet is None else Comet(settings.comet, settings.comet_python or "")
    timer = _Timer()
    check_systems(systems, sources, references, settings)
    if comet is not None:
        comet.check()
    opened = {system.name: _open_members(system, len(sources)) for system in systems}
    search, languages = _common_search(opened, search), _languages(opened, settings.languages)
    check_language(languages[1], settings)
    translates = any(member.bundle is not None for members in opened.values() for member in members)
    are_given = settings.languages is not None
    notes = language_notes(sources, references, languages, translates=translates, are_given=are_given)
    for member in (each for members in opened.values() for each in members if each.lines is not None):
        notes.append(copied_side_note(member.path, member.lines or (), sources, references))
    for note in filter(None, notes):
        if tell is not None and translates:  # before the work, which may take long, and in the result
            tell(f"note    {note}")
    run = _EvaluationRun(
        settings,
        sources,
        references,
        languages,
        timer,
        search=search,
        engine=engine or EngineSettings(),
        progress=progress or NoProgress(),
        tell=tell,
        comet=comet,
    )
    members = {
        system: [run.evaluate_member(member, (system, index)) for index, member in enumerate(found)]
        for system, found in opened.items()
    }
    baseline = (settings.baseline or systems[0].name) if len(systems) > 1 else None
    began = time.perf_counter()
    if baseline is not None:
        members = run.add_tests(members, baseline)
    results = tuple(
        combine_members(system, found, members[baseline] if baseline not in (None, system) else None)
        for system, found in members.items()
    )
    timer.add("scoring", began)
    notes += (
        output_language_note(member.name, member.hypotheses, references, languages[1])
        for found in members.values()
        for member in found
    )
    notes.append("" if any(notes) else useless_scores_note(results, languages[1]))  # notes so far explain low scores
    return Evaluation(
        test_set=TestSet(name, len(sources), _digest(sources), _digest(references), languages),
        systems=results,
        baseline=baseline,
        search=search.model_dump(),
        versions=package_versions(),
        machine=machine_info(accelerators=False).signature,
        command=command,
        resamples=settings.resamples,
        seconds=timer.seconds(),
        notes=tuple(filter(None, notes)),
    )


@dataclass(frozen=True)
class _EvaluationRun:
    """The test set, the settings and the statistics of the members evaluated so far."""

    settings: EvaluationSettings
    sources: Sequence[str]
    references: Sequence[str]
    languages: tuple[str, str]
    timer: _Timer
    search: SearchSettings
    engine: EngineSettings
    progress: Progress
    tell: Callable[[str], None] | None
    comet: Comet | None
    statistics: dict[_MemberKey, tuple[Statistics, ...]] = field(default_factory=dict)
    """Statistics of every member, shared by scores, length bins and tests."""

    def evaluate_member(self, member: EvaluatedMember, key: _MemberKey) -> MemberResult:
        """Translate, unless the member is a file of translations, and score."""
        output = self._translate(member)
        self.progress.begin(f"scoring {member.name}")
        began = time.perf_counter()
        self.statistics[key] = corpus_statistics(
            output.hypotheses, self.references, metrics=self.settings.metrics, language=self.languages[1]
        )
        self.timer.add("scoring", began)
        return self._score(member, output, self.statistics[key])

    def _score(self, member: EvaluatedMember, output: TestOutput, statistics: Sequence[Statistics]) -> MemberResult:
        began = time.perf_counter()
        scores = tuple(compute_score(each, resamples=self.settings.resamples) for each in statistics)
        by_length: tuple[LengthBin, ...] = ()
        if self.settings.by_length:
            subset = [each for each in statistics if each.metric in _SUBSET_METRICS]
            by_length = scores_by_length(self.sources, subset, resamples=self.settings.resamples)
        perturbations = self._perturbations(output)
        self.timer.add("scoring", began)
        return MemberResult(
            name=member.name,
            path=str(member.path),
            digest=member.digest,
            scores=(*scores, *self._comet(output)),
            hypotheses=tuple(output.hypotheses),
            seed=member.seed,
            parameters=member.parameters(),
            by_length=by_length,
            flags=None if output.flags is None else dict(output.flags.most_common()),
            perturbations=perturbations,
            throughput=output.throughput,
        )

    def add_tests(self, members: Mapping[str, list[MemberResult]], baseline: str) -> dict[str, list[MemberResult]]:
        """Return the members with their tests against the baseline.

        The only member of a system is tested against all members of the baseline, because it is shown next to their
        mean. Several members are tested against the baseline's members of the same index.
        """
        self.progress.begin(f"comparing with {baseline}")
        base = [(baseline, index) for index in range(len(members[baseline]))]
        tested: dict[str, list[MemberResult]] = {}
        for name, found in members.items():
            if name == baseline:
                tested[name] = found
                continue
            matched = [[base[index if index < len(base) else 0]] for index in range(len(found))]
            tested[name] = [
                replace(member, tests=self._tests(against, (name, index)))
                for index, (member, against) in enumerate(
                    zip(found, [base] if len(found) == 1 else matched, strict=True)
                )
            ]
        return tested

    def _tests(self, base: Sequence[_MemberKey], member: _MemberKey) -> tuple[SignificanceTest, ...]:
        """Return one test per metric: the weakest if the member is tested against several."""
        results = [
            [
                paired_test(*pair, test=self.settings.test_kind, trials=self.settings.trials)
                for pair in zip(self.statistics[each], self.statistics[member], strict=True)
            ]
            for each in base
        ]
        return tuple(weakest_test(tests) for tests in zip(*results, strict=True))

    def _translate(self, member: EvaluatedMember) -> TestOutput:
        if member.lines is not None:
            return TestOutput(list(member.lines))
        assert member.bundle is not None
        progress, began = self.progress, time.perf_counter()
        progress.begin(f"opening {member.name}")
        settings = self.engine.model_dump(exclude={"source_language", "target_language"})
        translator = in_direction(Translator.open(member.bundle, search=self.search, **settings), self.languages)
        if self.tell is not None:
            for line in _engine_messages(translator):
                self.tell(line)
        progress.begin(f"translating with {member.name}")
        output = translate_test_set(
            translator, self.sources, flags=self.settings.flags, perturb=self.settings.probes, progress=progress
        )
        self.timer.add("translating", began)
        return output

    def _perturbations(self, output: TestOutput) -> tuple[Perturbation, ...]:
        return tuple(
            score_perturbation(
                name,
                run.texts,
                run.outputs,
                [output.hypotheses[position] for position in run.positions],
                [self.references[position] for position in run.positions],
                metrics=[metric for metric in self.settings.metrics if metric in _SUBSET_METRICS],
                language=self.languages[1],
            )
            for name, run in output.perturbed.items()
        )

    def _comet(self, output: TestOutput) -> tuple[Score, ...]:
        if self.comet is None:
            return ()
        began = time.perf_counter()
        score = self.comet.score(self.sources, output.hypotheses, self.references)
        self.timer.add("scoring", began)
        return (score,)


def _open_members(system: System, sentences: int) -> list[EvaluatedMember]:
    several = len(system.members) > 1
    return [
        open_member(path, f"{system.name} {number}" if several else system.name, sentences)
        for number, path in enumerate(system.members, 1)
    ]


def _common_search(members: Mapping[str, list[EvaluatedMember]], given: SearchSettings | None) -> SearchSettings:
    """Return the search of all systems: with the beam that their models were made for, if that is the same for all."""
    search = given or SearchSettings()
    own = {each.bundle.config.inference for some in members.values() for each in some if each.bundle is not None}
    return search_for_model(search, *own) if len(own) == 1 else replace_search(search, beam=search.beam)


def _languages(members: Mapping[str, list[EvaluatedMember]], given: Direction | None) -> Direction:
    """Return the languages of the test set: given, or those of the bundles with one direction, which must be equal."""
    bundles = [each for some in members.values() for each in some if each.directions]
    found = {each.directions[0]: each.name for each in bundles if len(each.directions) == 1}
    if given is None and len(found) > 1:
        pairs = ", ".join(f"{'-'.join(languages)} ({name})" for languages, name in found.items())
        raise ConfigError(
            f"systems must translate between the same two languages, got {pairs}; evaluate them separately"
        )
    languages = given or next(iter(found), None)
    for each in bundles:
        if len(each.directions) > 1:
            if languages is None:
                listed = ", ".join(":".join(direction) for direction in each.directions[:_LISTED_DIRECTIONS])
                raise SettingError(
                    "{languages} is no direction of {name}, which has {listed}", name=each.name, listed=listed
                )
            choose_direction(each.directions, *languages)
    return languages or ("", "")


def _engine_messages(translator: Translator) -> Iterator[str]:
    yield f"engine  {translator.engine_reason}"
    if getattr(translator.engine, "has_new_export", False):  # the user did not request these files
        yield f"export  {getattr(translator.engine, 'note', '')}"


def _digest(lines: Sequence[str]) -> str:
    return hashlib.sha256("".join(f"{line}\n" for line in lines).encode("utf-8", "surrogatepass")).hexdigest()
