"""The training loop: updates, validations and checkpoints, until it is done or told to stop.

Everything an update does is a function of the configuration, the data and the update's number; what the loop carries
from one update to the next is in `Standing`, the weights and the optimizer, and all of that is in a checkpoint. So a
run that was stopped anywhere and goes on ends with the same bits as one that was not.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from dragoman.config.schema import Config
from dragoman.data.batch import Batch
from dragoman.data.loader import Loader
from dragoman.errors import BundleError, ConfigError, DragomanError, TrainingError
from dragoman.models.protocol import Model
from dragoman.stopping import STOPS, StopSignal
from dragoman.training.average import MovingAverage
from dragoman.training.checkpoint import Checkpoint, Checkpoints
from dragoman.training.gradient import GradientMaker
from dragoman.training.judge import Judge
from dragoman.training.keeper import Keeper
from dragoman.training.losses import Baseline
from dragoman.training.optimizer import build_optimizer
from dragoman.training.progress import Began, Ended, Moment, Observer
from dragoman.training.sharing import build_sharing
from dragoman.training.standing import Standing
from dragoman.training.step import Task, clip, set_rate
from dragoman.training.tensors import whole
from dragoman.training.validation import Validation
from dragoman.training.world import World

__all__ = ["Training", "check_divides"]

_MOST_RETURNS = 3


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
        self.standing = Standing()
        self._settings = config.training
        self._world = world or World()
        self._observer = observer
        self._loader = loader
        self._checkpoints = checkpoints
        self.signal = StopSignal()
        self._model = model.to(self._world.device)
        check_divides(self._settings.micro_batches, self._world.size)
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
        self._saved: dict[str, Any] = {}

    # ----------------------------------------------------------------------------------------------------- the run

    def resume(self) -> bool:
        """Go on from the newest checkpoint that is whole, if there is any."""
        found = self._world.first_does(self._newest)
        step = self._world.first_says(None if found is None else found.update)
        if step is None:
            return False
        checkpoint = found or self._checkpoints.open(step)
        self._keeper.restore(checkpoint)
        self._place = checkpoint.state["loader"]
        self._loader.resume(self._place)
        self.standing = Standing.from_json(checkpoint.state["standing"])
        self._saved = checkpoint.state
        return True

    def _newest(self) -> Checkpoint | None:
        found = self._checkpoints.latest(self._note)
        if found is None and (steps := self._checkpoints.steps()):
            raise BundleError(
                f"{self._checkpoints.folder} must hold a checkpoint that is whole, got {len(steps)} damaged ones; "
                "restore one of them, or begin a new run with --output"
            )
        return found

    def run(self) -> Ended:
        """Train until there is a reason to end."""
        began, tokens = time.monotonic(), self.standing.tokens
        self._world.first_says()  # nothing is written before all of them have looked at what is there
        with self.signal:
            self._tell_began()
            try:
                if not self._saved:
                    self._save(is_due=True)  # so that there is something to go back to
                why = self._until_done()
                self._save()
            except BaseException:
                with suppress(DragomanError):  # what went wrong first is what a person needs to know
                    self._tell_ended("failed", began, tokens)
                raise
        return self._tell_ended(why, began, tokens)

    def _until_done(self) -> str:
        while True:
            is_over = self._is_over()
            if is_over or self._validates_now():
                if not self._validate():
                    return self._agree(0)[1]
                self._save(is_due=True)
                is_over = self._is_over()
            if is_over:
                return is_over
            began = time.monotonic()
            batches = [next(self._loader) for _ in range(self._settings.micro_batches // self._world.size)]
            tokens, asked = self._agree(sum(batch.target_tokens for batch in batches))
            if asked:  # what was drawn is drawn again by the run that goes on
                return asked
            self._update(batches, tokens, began)
            if self._saves_now() and not self._validates_now():
                self._save(is_due=True)

    def _is_over(self) -> str:
        """Why training is over, if it is."""
        settings, best = self._settings, self.standing.best
        if best is not None and 0 < settings.patience <= best.since:
            return "no better"
        is_enough = 0 < settings.max_epochs <= self._place["epoch"] or self.standing.update >= settings.max_updates
        return "finished" if is_enough else ""

    def _saves_now(self) -> bool:
        update = self.standing.update
        return update % self._settings.checkpoint_every == 0 and update not in self.standing.kept  # nor after a return

    def _validates_now(self) -> bool:
        standing = self.standing
        return standing.update > standing.validated and standing.update % self._settings.validate_every == 0

    def _agree(self, tokens: int) -> tuple[int, str]:
        """The target pieces of this update on all processes, and whether one of them was asked to stop."""
        reasons = ["", *STOPS.values()]
        everyone = self._world.gathered([tokens, reasons.index(self.signal.asked)])
        return int(sum(tokens for tokens, _ in everyone)), reasons[int(max(asked for _, asked in everyone))]

    def _validate(self) -> bool:
        """Look at the validation set; False where training was asked to stop meanwhile."""
        standing = self.standing
        if self._judge is None or standing.validated == standing.update > 0:
            return True
        best = self._judge.look(standing.update, standing.best, self._average, self.signal.check)
        if best is None:
            return False
        self.standing = replace(standing, validated=standing.update, best=best)
        return True

    def _save(self, *, is_due: bool = False) -> None:
        """Write a checkpoint of this moment, unless there is one; `is_due` tells it from that of a stop."""
        if is_due:
            self.standing = self.standing.with_checkpoint(self._settings.keep_last)
        state = {"standing": self.standing.to_json(), "loader": self._place}
        if self._saved == state:
            return
        update = self.standing.update
        if self._world.is_first:
            self._observer.saving(update)
        folder = self._keeper.save(update, state, keep=self.standing.worth_keeping())
        self._saved = state
        if self._world.is_first:
            self._observer.saved(update, folder)

    # ------------------------------------------------------------------------------------------------- one update

    def _update(self, batches: Sequence[Batch], tokens: int, began: float) -> None:
        standing, settings = self.standing, self._settings
        update = standing.update + 1
        baseline = Baseline(settings.baseline_decay, standing.baseline)
        gradient = self._gradients.make(batches, tokens, update, baseline)
        norm = float(whole(clip(self._model, settings)))
        rate = set_rate(self._optimizer, settings, update)
        objection = standing.guard.objection(gradient.loss, norm, settings.spike)
        if not objection:
            self._optimizer.step()
            baseline = baseline.after(gradient.nll, tokens)
            if self._average is not None:
                self._average.update(update)
        self.standing = replace(
            standing,
            update=update,
            tokens=standing.tokens + tokens,
            baseline=baseline.mean,
            guard=standing.guard.after(gradient.loss, skipped=bool(objection)),
        )
        self._place = self._loader.state()
        if self._world.is_first:
            seconds = time.monotonic() - began
            at = self._loader.position
            self._observer.updated(
                Moment(update, at.epoch, gradient.loss, tokens, norm, rate, seconds, at.number, objection)
            )
        if objection:
            self._skipped(objection)

    def _skipped(self, objection: str) -> None:
        """Say which batches were left out; after several in a row doubt the weights, and go back."""
        last = self._loader.position.number
        first = last - self._settings.micro_batches
        self._note(f"update {self.standing.update} was skipped: {objection} (batches {first} to {last - 1})")
        if not self.standing.guard.wants_back:
            return
        before = self.standing
        if before.returns == _MOST_RETURNS:
            raise TrainingError(
                f"training must not diverge, got {_MOST_RETURNS} returns to update {before.sound} and bad updates "
                "after each; begin a run with a lower training.learning_rate, or look at the data"
            )
        checkpoint = self._checkpoints.open(before.sound)
        self._keeper.restore(checkpoint)
        # The place in the data stays where it is: the batches of these updates are not looked at again.
        self.standing = Standing.from_json(checkpoint.state["standing"]).gone_back(before)
        since = before.update - before.sound
        self._note(f"went back to update {before.sound}, leaving out the batches of the {since} updates since then")

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
                update=self.standing.update,
                max_updates=self._settings.max_updates,
                validated=self.standing.validated,
                drawn=self._loader.position.number,
            )
        )

    def _tell_ended(self, why: str, began: float, tokens: int) -> Ended:
        best = self.standing.best
        ended = Ended(
            why=why,
            update=self.standing.update,
            seconds=time.monotonic() - began,
            tokens=self.standing.tokens - tokens,
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


def check_divides(micro_batches: int, processes: int) -> None:
    """See that every process has the same number of batches in an update."""
    if micro_batches % processes:
        raise ConfigError(
            f"training.micro_batches must be a multiple of the number of processes = {processes}, got {micro_batches}; "
            f"for instance --set training.micro_batches={processes * -(-micro_batches // processes)}"
        )
