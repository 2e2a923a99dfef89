"""Search hyper-parameters by successive halving; write the best configuration.

The rungs are synchronous: a rung begins when the one before is complete. The chosen trials therefore depend on the
scores alone, not on the number of workers or on which of them was faster.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from dragoman.api.tuning.search_space import Trial, TuningConfig, draw_trials, setting_overrides
from dragoman.api.tuning.trial_run import TrialRecord, TrialTask, read_trial, run_trial
from dragoman.config.base import parse_toml
from dragoman.errors import ConfigError, TrainingError
from dragoman.files import atomic_write, read_json, write_json
from dragoman.progress import NoProgress, Progress

_TRIALS, TUNED = "tuning.json", "tuned.toml"
_MARK = "# Written by dragoman tune"

OnUpdate = Callable[[int, int], None]
"""Called with the place of a task and the update that its trial has reached."""
RunTrials = Callable[[Sequence[TrialTask], OnUpdate], Iterator[TrialRecord]]
"""Trains tasks, and yields their records in the same order."""

_DEFAULT_RUNGS = 3


def run_in_process(tasks: Sequence[TrialTask], on_update: OnUpdate) -> Iterator[TrialRecord]:
    """Train one trial after the other in this process."""
    for place, task in enumerate(tasks):
        yield run_trial(task, lambda update, place=place: on_update(place, update))  # type: ignore[misc]


@dataclass(frozen=True)
class TuningResult:
    """The trials with their records, and the best one; without `best` the search was stopped."""

    metric: str
    rungs: Sequence[Rung]
    trials: Sequence[Trial]
    records: Mapping[int, TrialRecord]
    best: int | None
    folder: Path
    tuned: Path
    stopped: str = ""
    """``terminated`` or ``interrupted`` if a signal stopped the search."""

    @property
    def lower_is_better(self) -> bool:
        """Whether the best trial has the lowest score."""
        return self.metric == "loss"

    def score(self, number: int) -> float | None:
        """Return the best score of a trial; None if it failed."""
        record = self.records[number]
        return record.best(record.updates, lower_is_better=self.lower_is_better)

    def ranked(self) -> list[Trial]:
        """Return the trials in the order of the search: those trained longer first, then by score."""
        sign = 1 if self.lower_is_better else -1

        def key(trial: Trial) -> tuple[int, bool, float, int]:
            score = self.score(trial.number)
            return (-self.rung(trial.number), score is None, sign * (score if score is not None else 0.0), trial.number)

        found = sorted(self.trials, key=key)
        return sorted(found, key=lambda trial: trial.number != self.best)

    def rung(self, number: int) -> int:
        """Return the number of rungs that a trial has completed."""
        record = self.records[number]
        return sum(record.is_complete or record.updates >= rung.updates for rung in self.rungs)

    def to_json(self) -> dict[str, Any]:
        return {
            "metric": self.metric,
            "rungs": [{"trials": rung.trials, "updates": rung.updates} for rung in self.rungs],
            "trials": [
                {
                    "trial": trial.number,
                    "settings": dict(trial.values),
                    "score": self.score(trial.number),
                    "updates": self.records[trial.number].updates,
                    "run": str(self.folder / trial.name),
                    "error": self.records[trial.number].error,
                }
                for trial in self.trials
            ],
            "best": self.best,
            "config": str(self.tuned) if self.best is not None else None,
        }


@dataclass
class Tuning:
    """A search in a folder: each trial is a run in it. The same search continues where it was stopped."""

    settings: TuningConfig
    config: Path
    folder: Path
    overrides: Sequence[str] = ()
    machine: Sequence[str] = ()
    """Overrides for this machine, which tuned.toml does not get."""
    progress: Progress = field(default_factory=NoProgress)

    def __post_init__(self) -> None:
        self._failed: dict[int, TrialRecord] = {}
        self.trials = draw_trials(self.settings, self.config, [*self.overrides, *self.machine])
        training = self.trials[0].config.training
        self.metric = training.stop_on
        self.rungs = plan_rungs(
            len(self.trials),
            factor=self.settings.factor,
            first=self.settings.min_updates,
            last=training.max_updates,
            every=training.validate_every,
        )
        self.tuned = self.config.parent / TUNED
        if self.tuned.exists() and not self.tuned.read_text(encoding="utf-8").startswith(_MARK):
            raise ConfigError(f"{self.tuned} was not written by dragoman tune; rename it")
        self._check_same()

    def run(self, run_trials: RunTrials = run_in_process) -> TuningResult:
        """Train the trials rung by rung; stops early after a stop signal."""
        self.folder.mkdir(parents=True, exist_ok=True)
        write_json(self.folder / _TRIALS, {"trials": [dict(trial.values) for trial in self.trials]})
        chosen = [trial.number for trial in self.trials]
        for number, rung in enumerate(self.rungs, 1):
            records = self._run_rung(number, rung, chosen, run_trials)
            result = self._result(None)
            if stopped := next((record.stopped for record in records.values() if record.stopped), ""):
                return replace(result, stopped=stopped)
            scores = {
                each: record.best(rung.updates, lower_is_better=result.lower_is_better)
                for each, record in records.items()
            }
            is_last = number == len(self.rungs)
            chosen = best_trials(
                scores, 1 if is_last else self.rungs[number].trials, lower_is_better=result.lower_is_better
            )
            if not chosen:
                failed = next((record.error for record in records.values() if record.error), "no validation")
                raise TrainingError(f"no trial in rung {number} has a score: {failed}")
        result = self._result(chosen[0])
        self._write_tuned(result)
        return result

    def _run_rung(
        self, number: int, rung: Rung, chosen: Iterable[int], run_trials: RunTrials
    ) -> dict[int, TrialRecord]:
        numbers = sorted(chosen)
        project = self.config.parent
        tasks = [
            TrialTask(self.trials[each].config, project, self.folder / self.trials[each].name, rung.updates)
            for each in numbers
        ]
        done = [0] * len(tasks)
        self.progress.begin(f"rung {number} of {len(self.rungs)}: {len(tasks)} × {rung.updates:,} updates")

        def on_update(place: int, update: int) -> None:
            done[place] = update
            self.progress.advance(sum(done) / (rung.updates * len(tasks)))

        records: dict[int, TrialRecord] = {}
        for place, record in enumerate(run_trials(tasks, on_update)):
            records[numbers[place]] = record
            on_update(place, rung.updates)
            if record.stopped:
                break
        self._failed |= {each: record for each, record in records.items() if record.error}
        return records

    def _result(self, best: int | None) -> TuningResult:
        records = {
            trial.number: self._failed.get(trial.number) or read_trial(self.folder / trial.name, self.metric)
            for trial in self.trials
        }
        return TuningResult(self.metric, self.rungs, self.trials, records, best, self.folder, self.tuned)

    def _check_same(self) -> None:
        """Require that the folder has no trials of another search."""
        before = read_json(self.folder / _TRIALS)
        known = before.get("trials") if isinstance(before, dict) else None
        now = [dict(trial.values) for trial in self.trials]
        count = min(len(known), len(now)) if isinstance(known, list) else 0
        if isinstance(known, list) and known[:count] != now[:count]:
            raise ConfigError(f"{self.folder} has the trials of another search; name another folder with --output")

    def _write_tuned(self, result: TuningResult) -> None:
        assert result.best is not None
        trial = self.trials[result.best]
        with atomic_write(self.tuned) as draft:
            draft.write_text(tuned_toml(self.config.name, trial, result, self.overrides), encoding="utf-8")


def tuned_toml(base: str, trial: Trial, result: TuningResult, overrides: Sequence[str]) -> str:
    """Return a configuration that extends that of the project with the settings of a trial."""
    score = result.score(trial.number)
    updates = result.records[trial.number].updates
    settings = dict(map(_key_and_value, (*overrides, *setting_overrides(trial.values))))
    lines = [
        f"{_MARK}: {trial.name}, validation {result.metric} {score:.4g} after {updates:,} updates.",
        f"extends = {json.dumps(base, ensure_ascii=False)}",
        "",
        *(f"{name} = {value}" for name, value in settings.items()),
    ]
    return "\n".join(lines) + "\n"


def _key_and_value(override: str) -> tuple[str, str]:
    """Return the key and the TOML value of ``a.b=c``, where c may be text without quotes."""
    name, _, value = override.partition("=")
    try:
        parse_toml(f"value = {value}", name)
    except ConfigError:
        value = json.dumps(value.strip(), ensure_ascii=False)
    return name.strip(), value.strip()


@dataclass(frozen=True)
class Rung:
    """A number of trials, each trained up to a number of updates in all."""

    trials: int
    updates: int


def plan_rungs(trials: int, *, factor: int, first: int | None, last: int, every: int) -> list[Rung]:
    """Return rungs from `first` to `last` updates, multiples of `every`, each with 1/`factor` of the trials before."""
    if last < every:
        raise ConfigError(
            f"training.validate_every must be at most training.max_updates = {last}, got {every}; trials are compared "
            "by their validations"
        )
    updates = first or max(1, last // factor ** (_DEFAULT_RUNGS - 1))
    if updates > last:
        raise ConfigError(f"min_updates must be at most training.max_updates = {last}, got {updates}; use fewer")
    rungs = []
    updates = _round_up(updates, every)
    while updates < last and trials > 1:
        rungs.append(Rung(trials, updates))
        updates, trials = _round_up(updates * factor, every), max(1, trials // factor)
    return [*rungs, Rung(trials, last)]


def best_trials(scores: Mapping[int, float | None], count: int, *, lower_is_better: bool) -> list[int]:
    """Return the numbers of the best trials, the best first; trials without a score are never among them."""
    sign = 1 if lower_is_better else -1
    known = [(sign * score, number) for number, score in scores.items() if score is not None]
    return [number for _, number in sorted(known)[:count]]


def _round_up(number: int, multiple: int) -> int:
    return -(-number // multiple) * multiple
