"""Log a training to MLflow. Its environment variables, such as MLFLOW_TRACKING_URI, select the store.

A folder (file:///…) needs MLFLOW_ALLOW_FILE_STORE=true, and no package but mlflow-skinny.
"""

from __future__ import annotations

import mlflow

from dragoman.config import Config
from dragoman.training.callbacks.events import (
    StepEvent,
    TrainerCallback,
    TrainingEnded,
    TrainingStarted,
    ValidationEvent,
)


class MlflowLogger(TrainerCallback):
    """Logs settings, losses and scores; a resumed training continues its run of MLflow."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._every = config.training.log_every

    def on_start(self, started: TrainingStarted) -> None:
        record = started.folder / "mlflow-run.txt"
        known = record.read_text(encoding="utf-8") if record.is_file() else None
        run = mlflow.start_run(run_id=known, run_name=started.folder.name)
        record.write_text(run.info.run_id, encoding="utf-8")
        if known is None:
            mlflow.log_dict(self._config.model_dump(mode="json", exclude_none=True), "settings.json")
            mlflow.log_params({"parameters": started.parameters, "device": started.device})

    def on_update(self, event: StepEvent) -> None:
        if event.update % self._every == 0:
            mlflow.log_metrics({"loss": event.loss, "learning_rate": event.learning_rate}, step=event.update)

    def on_validation_end(self, event: ValidationEvent) -> None:
        scores = {"loss": event.loss, **event.scored.scores}
        mlflow.log_metrics({f"validation_{name}": value for name, value in scores.items()}, step=event.update)

    def on_end(self, ended: TrainingEnded) -> None:
        mlflow.set_tag("ended", ended.why)
        mlflow.end_run("FINISHED" if ended.is_complete else "KILLED")
