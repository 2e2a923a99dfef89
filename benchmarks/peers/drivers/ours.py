"""Dragoman's training step on the shared batches."""

from __future__ import annotations

import torch

from benchmarks.peers.drivers.batches import Corpus, cut, longest_output, parser, train, translate
from dragoman.config import RnnConfig, TrainingConfig, TransformerConfig
from dragoman.data.batch import Batch
from dragoman.engines.torch_engine import TorchEngine
from dragoman.models import build_model
from dragoman.search import SearchInput, SearchSettings
from dragoman.training import build_optimizer, train_step

R = {
    "family": "rnn",
    "decoder": {"input_feeding": True, "start": "copy"},
    "attention": {"score": "general"},
}


def main() -> None:
    options = parser(__doc__).parse_args()
    torch.set_num_threads(options.threads)
    corpus = Corpus.read(options.data, options.tokens)
    config = TransformerConfig(family="transformer") if options.model == "T" else RnnConfig.model_validate(R)
    model = build_model(config, len(corpus.subwords), len(corpus.subwords), options.seed)
    # The schedule is that of all drivers: inverse-sqrt with a warm-up.
    training = TrainingConfig.model_validate(
        {
            "seed": options.seed,
            "precision": options.precision,
            "learning_rate": options.peak,
            "schedule": "inverse-sqrt",
            "warmup_updates": options.warmup,
            "clip_norm": 1.0,
        }
    )
    optimizer = build_optimizer(model, training)
    done = 0

    def step(rows: list[int], _: float) -> None:
        nonlocal done
        done += 1
        train_step(model, optimizer, Batch.from_pairs(corpus.pairs(rows), rows), training, done)

    def search(sources: list[list[int]]) -> list[list[int]]:
        settings = SearchSettings(beam=1, max_length=longest_output(sources))
        found = TorchEngine(model).search([SearchInput(source) for source in sources], settings)
        return [cut(best.tokens) for (best,) in found]

    train(corpus, options, step)
    if options.hypotheses:
        translate(corpus, options.hypotheses, search)


if __name__ == "__main__":
    main()
