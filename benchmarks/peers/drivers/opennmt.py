"""OpenNMT-py's model, optimizer and trainer on the shared batches; translations by its own onmt_translate."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from onmt.bin.translate import main as onmt_translate
from onmt.model_builder import build_model
from onmt.models import build_model_saver
from onmt.opts import train_opts
from onmt.train_single import _init_train, configure_process
from onmt.trainer import build_trainer
from onmt.utils.optimizers import Optimizer
from onmt.utils.parse import ArgumentParser

from benchmarks.peers.drivers.batches import Corpus, padded, parser


def settings(config: Path, options: Any) -> Any:
    """Its own settings; noam is peak · min(update / warmup, √(warmup / update)) with this rate."""
    args = ArgumentParser()
    train_opts(args)
    found, _ = args.parse_known_args(["-config", str(config)])
    found.decay_method, found.warmup_steps = "noam", options.warmup
    found.learning_rate = options.peak * options.warmup**0.5 * found.hidden_size**0.5
    found.train_steps = found.save_checkpoint_steps = options.updates
    ArgumentParser.validate_train_opts(found)
    ArgumentParser.update_model_opts(found)
    ArgumentParser.validate_model_opts(found)
    return found


def batches(corpus: Corpus, vocabs: Any) -> Iterator[tuple[dict[str, Any], int]]:
    """What its data iterator would give, of our pairs."""
    vocab = vocabs["src"]
    numbers = [vocab[subword] for subword in corpus.subwords]
    pad, start, end = (vocab[word] for word in ("<blank>", "<s>", "</s>"))
    for place, rows in enumerate(corpus.rows()):
        pairs = corpus.pairs(rows)
        sources = [[numbers[subword] for subword in source] for source, _ in pairs]
        targets = [[start, *(numbers[subword] for subword in target), end] for _, target in pairs]
        batch = {
            "src": padded(sources, pad).unsqueeze(-1),
            "srclen": torch.tensor([len(source) for source in sources]),
            "tgt": padded(targets, pad).unsqueeze(-1),
            "tgtlen": torch.tensor([len(target) for target in targets]),
            "indices": torch.arange(len(rows)),
            "cid_line_number": place,
        }
        yield batch, place


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--config", type=Path, required=True)
    chosen = options.parse_args()
    torch.set_num_threads(chosen.threads)
    corpus = Corpus.read(chosen.data, chosen.tokens)
    opt = settings(chosen.config, chosen)
    configure_process(opt, -1)
    _, vocabs, _ = _init_train(opt)
    model = build_model(opt, opt, vocabs, None, -1)
    optimizer = Optimizer.from_opt(model, opt, checkpoint=None)
    saver = build_model_saver(opt, opt, model, vocabs, optimizer, -1)
    trainer = build_trainer(opt, -1, model, vocabs, optimizer, model_saver=saver)
    train_steps = chosen.updates
    trainer.train(batches(corpus, vocabs), train_steps, save_checkpoint_steps=train_steps, valid_steps=opt.valid_steps)
    if chosen.hypotheses:
        saved = f"{opt.save_model}_step_{chosen.updates}.pt"
        wanted = {"-model": saved, "-src": chosen.data / "test.en", "-output": chosen.hypotheses}
        wanted |= {"-beam_size": 1, "-batch_size": 50, "-max_length": 150, "-gpu": -1}
        sys.argv = ["onmt_translate", *(str(word) for pair in wanted.items() for word in pair)]
        onmt_translate()
    print(json.dumps({"done": chosen.updates}), flush=True)


if __name__ == "__main__":
    main()
