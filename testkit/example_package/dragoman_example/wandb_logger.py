"""Log a training to Weights & Biases. Its environment variables, such as WANDB_MODE=offline, select where to."""

from __future__ import annotations

import wandb

from dragoman.config import Config
from dragoman.training.callbacks.events import (
    StepEvent,
    TrainerCallback,
    TrainingEnded,
    TrainingStarted,
    ValidationEvent,
)


class WandbLogger(TrainerCallback):
    """Logs settings, losses and scores."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._every = config.training.log_every

    def on_start(self, started: TrainingStarted) -> None:
        settings = self._config.model_dump(mode="json", exclude_none=True)
        self._run = wandb.init(project="dragoman", name=started.folder.name, dir=started.folder, config=settings)

    def on_update(self, event: StepEvent) -> None:
        if event.update % self._every == 0:
            self._run.log({"loss": event.loss, "learning_rate": event.learning_rate}, step=event.update)

    def on_validation_end(self, event: ValidationEvent) -> None:
        scores = {"loss": event.loss, **event.scored.scores}
        self._run.log({f"validation/{name}": value for name, value in scores.items()}, step=event.update)

    def on_end(self, ended: TrainingEnded) -> None:
        self._run.summary["ended"] = ended.why
        self._run.finish(exit_code=0 if ended.is_complete else 1)
