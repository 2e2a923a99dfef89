"""How a model learns."""

from dragoman.training.losses import Baseline
from dragoman.training.optimizer import build_optimizer
from dragoman.training.schedule import learning_rate
from dragoman.training.step import Objective, Update, objective, train_step

__all__ = ["Baseline", "Objective", "Update", "build_optimizer", "learning_rate", "objective", "train_step"]
