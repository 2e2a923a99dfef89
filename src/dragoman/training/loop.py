"""The training loop: updates, validations and checkpoints, until it is done or told to stop.

Everything an update does is a function of the configuration, the data and the update's number; what the loop carries
from one update to the next is in `Progress`, the weights and the optimizer, and all of that is in a checkpoint. So a
run that was stopped anywhere and goes on ends with the same bits as one that was not.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

from dragoman.config.schema import Config
from dragoman.data.batch import Batch
from dragoman.data.loader import Loader
from dragoman.errors import ConfigError, TrainingError
from dragoman.models.protocol import Model
from dragoman.training.average import MovingAverage
from dragoman.training.checkpoint import Checkpoints
from dragoman.training.gradient import GradientMaker
from dragoman.training.guard import Guard
from dragoman.training.judge import Judge
from dragoman.training.keeper import Keeper
from dragoman.training.losses import Baseline
from dragoman.training.optimizer import build_optimizer
from dragoman.training.progress import Began, Ended, Moment, Observer
from dragoman.training.sharing import build_sharing
from dragoman.training.signals import STOPS, StopSignal
from dragoman.training.step import Task, clip, set_rate
from dragoman.training.tensors import whole
from dragoman.training.validation import Best, Validation
from dragoman.training.world import World

__all__ = ["Progress", "Training"]

_MOST_RETURNS = 3


@dataclass(frozen=True)
class Progress:
    """How far a training is: plain values, the same on all processes."""

    update: int = 0
    tokens: int = 0
    validated: int = 0
    """The update of the last validation that was finished."""
    baseline: float | None = None
    guard: Guard = field(default_factory=Guard)
    best: Best | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "update": self.update,
            "tokens": self.tokens,
            "validated": self.validated,
            "baseline": self.baseline,
            "guard": self.guard.to_json(),
            "best": self.best and self.best.to_json(),
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Self:
        """From `to_json`."""
        best = value["best"]
        return cls(
            update=value["update"],
            tokens=value["tokens"],
            validated=value["validated"],
            baseline=value["baseline"],
            guard=Guard.from_json(value["guard"]),
            best=None if best is None else Best.from_json(best),
        )


class Training:
    """One training run in one process, from a model as it is built to its last checkpoint.

    All processes make the same calls in the same order; the first one alone validates, writes and speaks.
    """

    def __init__(
        self,
        config: Config,
        model: Model[Any, Any],
        loader: Loader,
        checkpoints: Checkpoints,
        observer: Observer,
        *,
        world: World | None = None,
        validation: Validation | None = None,
    ) -> None:
        self.progress = Progress()
        self._settings = config.training
        self._world = world or World()
        self._observer = observer
        self._loader = loader
        self._checkpoints = checkpoints
        self._signal = StopSignal()
        self._model = model.to(self._world.device)
        _check_divides(self._settings.micro_batches, self._world.size)
        if self._settings.recompute:
            model.recompute_layers()
        self._judge = None
        if validation is not None:
            self._judge = Judge(model, validation, self._settings, self._world, observer)
        sharing = build_sharing(Task(self._model, self._settings), self._settings, self._world)
        self._gradients = GradientMaker(sharing, self._settings, self._world, self._note)
        self._optimizer = build_optimizer(self._model, self._settings)
        self._average = MovingAverage(self._model, self._settings.ema_decay) if self._settings.ema_decay else None
        self._keeper = Keeper(config, self._model, self._optimizer, self._average, checkpoints, self._world)
        self._place = loader.state()
        self._saved: int | None = None
        self._saved_state: dict[str, Any] = {}
        self._returns = 0

    # ----------------------------------------------------------------------------------------------------- the run

    def resume(self) -> bool:
        """Go on from the newest checkpoint that is whole, if there is any."""
        found = self._checkpoints.latest(self._note) if self._world.is_first else None
        step = self._world.first_says(None if found is None else found.update)
        if step is None:
            return False
        checkpoint = found or self._checkpoints.open(step)
        self._keeper.restore(checkpoint)
        self._place = checkpoint.state["loader"]
        self._loader.resume(self._place)
        self.progress = Progress.from_json(checkpoint.state["progress"])
        self._saved, self._saved_state = step, checkpoint.state
        return True

    def run(self) -> Ended:
        """Train until there is a reason to end."""
        began, tokens = time.monotonic(), self.progress.tokens
        with self._signal:
            self._tell_began()
            if self._saved is None:
                self._save()  # so that there is something to go back to
            try:
                why = self._until_done()
                self._save()
            except TrainingError:
                self._tell_ended("failed", began, tokens)
                raise
        return self._tell_ended(why, began, tokens)

    def _until_done(self) -> str:
        while True:
            is_over = self._is_over()
            if is_over or self._is_due(self._settings.validate_every, self.progress.validated):
                if not self._validate():
                    return self._agree(0)[1]
                self._save()
                is_over = self._is_over()
            if is_over:
                return is_over
            began = time.monotonic()
            batches = [next(self._loader) for _ in range(self._settings.micro_batches // self._world.size)]
            tokens, asked = self._agree(sum(batch.target_tokens for batch in batches))
            if asked:  # what was drawn is drawn again by the run that goes on
                return asked
            self._update(batches, tokens, began)
            validates = self._is_due(self._settings.validate_every, self.progress.validated)
            if self._is_due(self._settings.checkpoint_every, self._saved or 0) and not validates:
                self._save()

    def _is_over(self) -> str:
        """Why training is over, if it is."""
        settings, best = self._settings, self.progress.best
        if best is not None and 0 < settings.patience <= best.since:
            return "no better"
        is_enough = 0 < settings.max_epochs <= self._place["epoch"] or self.progress.update >= settings.max_updates
        return "finished" if is_enough else ""

    def _is_due(self, every: int, last: int) -> bool:
        return self.progress.update > last and self.progress.update % every == 0

    def _agree(self, tokens: int) -> tuple[int, str]:
        """The target pieces of this update on all processes, and whether one of them was asked to stop."""
        reasons = ["", *STOPS.values()]
        everyone = self._world.gathered([tokens, reasons.index(self._signal.asked)])
        return int(sum(tokens for tokens, _ in everyone)), reasons[int(max(asked for _, asked in everyone))]

    def _validate(self) -> bool:
        """Look at the validation set; False where training was asked to stop meanwhile."""
        progress = self.progress
        if self._judge is None or progress.validated == progress.update > 0:
            return True
        best = self._judge.look(progress.update, progress.best, self._average, self._signal.check)
        if best is None:
            return False
        self.progress = replace(progress, validated=progress.update, best=best)
        return True

    def _save(self) -> None:
        """Write a checkpoint of this moment, unless there is one."""
        progress = self.progress
        state = {"progress": progress.to_json(), "loader": self._place}
        if self._saved_state == state:
            return
        best = progress.best
        folder = self._keeper.save(progress.update, state, best=None if best is None else best.update)
        self._saved, self._saved_state, self._returns = progress.update, state, 0
        if self._world.is_first:
            self._observer.saved(progress.update, folder)

    # ------------------------------------------------------------------------------------------------- one update

    def _update(self, batches: Sequence[Batch], tokens: int, began: float) -> None:
        progress, settings = self.progress, self._settings
        update = progress.update + 1
        baseline = Baseline(settings.baseline_decay, progress.baseline)
        gradient = self._gradients.make(batches, tokens, update, baseline)
        norm = float(whole(clip(self._model, settings)))
        rate = set_rate(self._optimizer, settings, update)
        objection = progress.guard.objection(gradient.loss, norm, settings.spike)
        if not objection:
            self._optimizer.step()
            baseline = baseline.after(gradient.nll, tokens)
            if self._average is not None:
                self._average.update(update)
        self.progress = replace(
            progress,
            update=update,
            tokens=progress.tokens + tokens,
            baseline=baseline.mean,
            guard=progress.guard.after(gradient.loss, skipped=bool(objection)),
        )
        self._place = self._loader.state()
        if self._world.is_first:
            seconds = time.monotonic() - began
            epoch = self._loader.position.epoch
            self._observer.updated(Moment(update, epoch, gradient.loss, tokens, norm, rate, seconds, objection))
        if objection:
            self._skipped(objection)

    def _skipped(self, objection: str) -> None:
        """Say which batches were left out; after several in a row doubt the weights, and go back."""
        last = self._loader.position.number
        first = last - self._settings.micro_batches
        self._note(f"update {self.progress.update} was skipped: {objection} (batches {first} to {last - 1})")
        if not self.progress.guard.wants_back:
            return
        self._returns += 1
        assert self._saved is not None
        if self._returns > _MOST_RETURNS:
            raise TrainingError(
                f"training must not diverge, got {_MOST_RETURNS} returns to update {self._saved} and bad updates after "
                "each; lower training.learning_rate, raise training.warmup_updates, or look at the data"
            )
        checkpoint = self._checkpoints.open(self._saved)
        self._keeper.restore(checkpoint)
        skipped = self.progress.update - self._saved
        # The place in the data stays where it is: the batches of these updates are not looked at again.
        self.progress = Progress.from_json(checkpoint.state["progress"])
        self._note(f"went back to update {self._saved}, leaving out the batches of the {skipped} updates since then")

    # ------------------------------------------------------------------------------------------------- what is said

    def _tell_began(self) -> None:
        if not self._world.is_first:
            return
        self._observer.began(
            Began(
                folder=self._checkpoints.folder.parent,
                parameters=sum(parameter.numel() for parameter in self._model.parameters()),
                processes=self._world.size,
                device=str(self._world.device),
                update=self.progress.update,
                max_updates=self._settings.max_updates,
                batches_per_epoch=None,
            )
        )

    def _tell_ended(self, why: str, began: float, tokens: int) -> Ended:
        best = self.progress.best
        ended = Ended(
            why=why,
            update=self.progress.update,
            seconds=time.monotonic() - began,
            tokens=self.progress.tokens - tokens,
            best_update=None if best is None else best.update,
            best_value=None if best is None else best.value,
            metric=self._settings.stop_on,
        )
        if self._world.is_first:
            self._observer.ended(ended)
        return ended

    def _note(self, text: str) -> None:
        if self._world.is_first:
            self._observer.noted(text)


def _check_divides(micro_batches: int, processes: int) -> None:
    if micro_batches % processes:
        raise ConfigError(
            f"training.micro_batches must be a multiple of the number of processes = {processes}, got {micro_batches}; "
            f"for instance --set training.micro_batches={processes * -(-micro_batches // processes)}"
        )
