"""Training: loss, optimizer, schedule, updates and the training loop."""

from dragoman.training.optimizer import build_optimizer, learning_rate
from dragoman.training.step import Objective, RewardBaseline, UpdateResult, objective, train_step
