"""Hugging Face's Marian model in the loop its documentation shows: forward, backward, clip, Adam."""

from __future__ import annotations

import torch
from transformers import MarianConfig, MarianMTModel

from benchmarks.peers.drivers.batches import (
    EOS,
    PAD,
    Corpus,
    Pair,
    cut,
    longest_output,
    padded,
    parser,
    train,
    translate,
)

IGNORED = -100  # a label that is no word, to transformers


def build(vocab: int) -> MarianMTModel:
    """3 + 3 layers of width 256, 4 heads, feed-forward 1024, tied, dropout 0.1 on sub-layers and word vectors."""
    config = MarianConfig(
        vocab_size=vocab,
        d_model=256,
        encoder_layers=3,
        decoder_layers=3,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=1024,
        decoder_ffn_dim=1024,
        activation_function="relu",
        dropout=0.1,
        attention_dropout=0.0,
        activation_dropout=0.0,
        scale_embedding=True,
        max_position_embeddings=512,
        pad_token_id=PAD,
        eos_token_id=EOS,
        decoder_start_token_id=PAD,
        forced_eos_token_id=None,
    )
    return MarianMTModel(config)


def inputs(sources: list[list[int]]) -> dict[str, torch.Tensor]:
    source = padded([[*sentence, EOS] for sentence in sources])
    return {"input_ids": source, "attention_mask": (source != PAD).long()}


def loss_of(model: MarianMTModel, pairs: list[Pair]) -> torch.Tensor:
    labels = padded([[*target, EOS] for _, target in pairs], IGNORED)
    loss: torch.Tensor = model(**inputs([source for source, _ in pairs]), labels=labels, use_cache=False).loss
    return loss


def main() -> None:
    options = parser(__doc__).parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    corpus = Corpus.read(options.data, options.tokens)
    model = build(len(corpus.subwords)).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=options.peak, fused=True)

    def step(rows: list[int], rate: float) -> None:
        optimizer.param_groups[0]["lr"] = rate
        with torch.autocast("cpu", torch.bfloat16, enabled=options.precision == "bf16"):
            loss = loss_of(model, corpus.pairs(rows))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    def search(sources: list[list[int]]) -> list[list[int]]:
        found = model.generate(**inputs(sources), num_beams=1, do_sample=False, max_length=longest_output(sources))
        return [cut(subwords[1:]) for subwords in found.tolist()]

    train(corpus, options, step)
    if options.hypotheses:
        model.eval()
        translate(corpus, options.hypotheses, search)


if __name__ == "__main__":
    main()
