"""Repair of similar units of a translation memory: ways compared on real text.

    python -m benchmarks.repair MODEL --messages FILE --work DIR [--texts 120]

MODEL is the folder of Firefox's en→pt student, FILE a TSV file of texts and their translations, gzip. The texts are
divided at random into five parts; the memory of a part has the four others. Of the texts whose best unit has a score
from 70 to 98, those of the first two parts were used to choose thresholds and bonuses; all others test. Ways:

- *the unit*: its translation unchanged; *the model alone*: as `dragoman translate`;
- *repaired*: what `--memory-repair` does; where it is unsure, the model alone;
- *preferred*: greedy decoding in which tokens of the unit's translation get a bonus of 5 nats, those of words that are
  linked to unchanged words of the source, in their order, from where the last one was written;
- *a few steps*: the model is trained with the three best units, int(4 · s) epochs with Adam and a rate of
  1e-4 · √s for the best score s, each epoch one step, and the training is undone after the text. Only the first texts.

For *preferred* and *a few steps* placeholders are names such as X1, because the student has no braces; *with names* is
the model alone with them. Where a placeholder is lost, the unit is the result. Training a model with units in its input
was not tried: it takes days of CPU time.
"""

from __future__ import annotations

import contextlib
import json
import random
import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.month import new_memory, read
from benchmarks.reporting import heading, parser, table, write
from dragoman import Translator
from dragoman.api.translation.word_alignment import repaired_texts
from dragoman.evaluation.metrics.corpus_scores import corpus_scores
from dragoman.evaluation.significance import paired_tests
from dragoman.importing.import_model import import_model
from dragoman.markup.protected_spans import find_damage, find_placeholders, placeholder_strings
from dragoman.storage.memories import Unit
from dragoman.storage.memory_match import Query
from dragoman.storage.memory_reader import MemoryMatch
from dragoman.text import BOS_ID, EOS_ID, PAD_ID, map_words

PARTS, CHOOSING, BONUS, AHEAD = 5, 2, 5.0, 3
METRICS = ("ter", "chrf")
_NAME = re.compile(r"X\d+")


def find_texts(messages: Path, work: Path) -> list[dict[str, Any]]:
    """Return the test texts with their units, in random order."""
    pairs = [line.split("\t")[:2] for line in read(messages)]
    draws = random.Random(1)
    parts = [draws.randrange(PARTS) for _ in pairs]
    found = []
    for part in range(CHOOSING, PARTS):
        with new_memory(work / "repair.db") as store:
            memory = store.get("", "month")
            store.add(memory, "en", "pt", [Unit(*pair) for pair, of in zip(pairs, parts, strict=True) if of != part])
            own = [pair for pair, of in zip(pairs, parts, strict=True) if of == part]
            memories = [store.get("", "month")]
            units = store.look_up(memories, "en", "pt", [Query(text) for text, _ in own], threshold=70, limit=3)
            for (source, reference), some in zip(own, units, strict=True):
                if some and some[0].score < 99:
                    matches = [MemoryMatch(each.score, each.unit.source, each.text, "") for each in some]
                    found.append({"source": source, "reference": reference, "matches": matches})
    random.Random(2).shuffle(found)
    return found


def named(texts: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Replace placeholders by names, the same in all texts."""
    names: dict[str, str] = {}
    done = []
    for text in texts:
        for start, end in reversed(find_placeholders(text)):
            text = text[:start] + names.setdefault(text[start:end], f"X{len(names) + 1}") + text[end:]
        done.append(text)
    return done, {name: string for string, name in names.items()}


def unnamed(text: str, names: dict[str, str], each: dict[str, Any]) -> str:
    """Return a translation with its placeholders, or that of the unit if one is lost."""
    found = _NAME.sub(lambda match: names.get(match[0], match[0]), text)
    strings = placeholder_strings(each["source"], find_placeholders(each["source"]))
    return each["matches"][0].text if find_damage(strings, each["source"], found) else found


def with_names(translator: Translator, each: dict[str, Any]) -> str:
    (text,), names = named([each["source"]])
    return unnamed(translator.translate(text, protect=False).text, names, each)


def preferred(translator: Translator, each: dict[str, Any]) -> str:
    """Decode with a bonus for tokens of the unit's translation."""
    unit = each["matches"][0]
    (text, source, target), names = named([each["source"], unit.source, unit.text])
    read_, written = translator.preprocessor.tokenizer, translator.postprocessor.tokenizer
    normalize = translator.postprocessor.normalize
    (scored,) = translator.score([source], [target], alignment=True, posterior=True)
    new = {word.lower() for word in map_words(read_.tokens(normalize(text))).words}
    gone = {place for place, word in enumerate(scored.source_words) if word.lower() not in new}
    changed = {two for one, two in scored.alignment or () if one in gone}
    words = map_words(written.tokens(normalize(target))).word_of
    keeps = [word not in changed for word in words] + [True]
    tokens = [*written.encode(normalize(target)), EOS_ID]
    state = translator.engine.start([read_.encode(normalize(text))], False)  # type: ignore[attr-defined]
    token, out, at, is_on = BOS_ID, list[int](), 0, True
    while len(out) < 2 * len(tokens) + 20:
        step = state.step(np.array([token]))
        scores = step.log_probs[0]
        scores[[PAD_ID, BOS_ID]] = -np.inf
        ahead = [place for place in range(at, len(tokens)) if keeps[place]]
        is_next = at < len(tokens) and keeps[at] and is_on
        bonuses = {tokens[place]: place for place in reversed(ahead[: 1 if is_next else AHEAD])}
        for each_token in bonuses:
            scores[each_token] += BONUS
        token = int(scores.argmax())
        if token == EOS_ID:
            break
        out.append(token)
        is_on = token in bonuses
        at = bonuses[token] + 1 if is_on else at
        state = step.next_state
    return unnamed(written.decode(out), names, each)


def few_steps(translator: Translator, each: dict[str, Any]) -> str:
    """Train with the units, translate, and undo the training."""
    import torch

    from dragoman.data.batch import Batch

    model = translator.engine.model  # type: ignore[attr-defined]
    parameters = list(model.parameters())
    saved = [one.detach().clone() for one in parameters]
    score = each["matches"][0].score / 100
    read_, written = translator.preprocessor.tokenizer, translator.postprocessor.tokenizer
    normalize = translator.postprocessor.normalize
    rows = []
    for unit in each["matches"]:
        (_, source, target), _ = named([each["source"], unit.source, unit.text])
        rows.append((read_.encode(normalize(source)), written.encode(normalize(target))))
    batch = Batch.from_pairs(rows)
    for one in parameters:
        one.requires_grad_(requires_grad=True)
    optimizer = torch.optim.Adam(parameters, lr=1e-4 * score**0.5)
    for _ in range(int(4 * score)):
        optimizer.zero_grad()
        decoded = model(batch.source, batch.source_lengths, batch.inputs, batch.target_lengths, return_attention=False)
        gained = model.decoder.output(decoded.features).gather(-1, batch.labels.unsqueeze(-1)).squeeze(-1)
        is_word = batch.labels != PAD_ID
        (-(gained * is_word).sum() / is_word.sum()).backward()
        optimizer.step()
    text = with_names(translator, each)
    with torch.no_grad():
        for one, old in zip(parameters, saved, strict=True):
            one.copy_(old)
    return text


def main() -> None:
    options = parser(__doc__)
    options.add_argument("model", type=Path)
    options.add_argument("--messages", type=Path, required=True)
    options.add_argument("--work", type=Path, required=True)
    options.add_argument("--texts", type=int, default=120, help="of the way that trains")
    given = options.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    base = given.work / "base"
    if not base.exists():
        import_model(given.model, base, languages=("en", "pt"))
    texts = find_texts(given.messages, given.work)
    sources = [each["source"] for each in texts]
    with contextlib.ExitStack() as stack:
        opened = stack.enter_context(Translator.open(base, threads=1))
        whole = stack.enter_context(Translator.open(base, engine="onnx", shortlist=False, threads=1))
        start = time.process_time()
        alone = [found.text for found in opened.translate(sources)]
        seconds = {"the model alone": time.process_time() - start}
        start = time.process_time()
        changed = repaired_texts(opened, sources, alone, [each["matches"][0] for each in texts])
        seconds["repaired"] = seconds["the model alone"] + time.process_time() - start
        outputs = {"the unit": [each["matches"][0].text for each in texts], "the model alone": alone}
        outputs["repaired"] = [new or old for new, old in zip(changed, alone, strict=True)]
        ways: dict[str, tuple[Callable[[Translator, dict[str, Any]], str], Translator, int]] = {
            "with names": (with_names, whole, len(texts)),
            "preferred": (preferred, whole, len(texts)),
            "a few steps": (
                few_steps,
                stack.enter_context(Translator.open(base, engine="torch", threads=1)),
                given.texts,
            ),
        }
        for name, (way, translator, count) in ways.items():
            start = time.process_time()
            outputs[name] = [way(translator, each) for each in texts[:count]]
            seconds[name] = time.process_time() - start
    report(texts, outputs, seconds, sum(each is not None for each in changed), given.texts)


def report(
    texts: list[dict[str, Any]], outputs: dict[str, list[str]], seconds: dict[str, float], repaired: int, first: int
) -> None:
    figures: dict[str, Any] = {"texts": len(texts), "repaired": repaired}
    page = heading("Repair of similar units", "python -m benchmarks.repair MODEL …", 1)
    page += f"\n{(__doc__ or '').replace('    python', '    $ python')}\n"
    for title, count in ((f"all {len(texts)} texts", len(texts)), (f"the first {first} texts", first)):
        references = [each["reference"] for each in texts[:count]]
        rows = []
        for name, found in outputs.items():
            if len(found) < count:
                continue
            scores = corpus_scores(found[:count], references, metrics=METRICS, language="pt", resamples=1000)
            cells = [f"{score.value:.1f} ± {score.interval.half_width:.1f}" for score in scores if score.interval]
            tests = {
                other: paired_tests(outputs[other][:count], [found[:count]], references, metrics=("ter",))[0][0]
                for other in ("the unit", "the model alone", "repaired")
            }
            cells += [f"{each.difference:+.1f} (p = {each.p_value:.3f})" for each in tests.values()]
            cells.append(f"{1000 * seconds[name] / len(found):.0f}" if name in seconds else "–")
            rows.append([name, *cells])
            figures.setdefault(title, {})[name] = {score.metric: score.value for score in scores} | {
                other: {"difference": each.difference, "p": each.p_value} for other, each in tests.items()
            }
        header = [title, "TER", "chrF++", "TER − the unit", "− the model alone", "− repaired", "CPU ms per text"]
        page += table(header, rows) + "\n"
    rows = []
    for low, high in ((70, 80), (80, 90), (90, 99)):
        places = [n for n, each in enumerate(texts) if low <= each["matches"][0].score < high]
        references = [texts[n]["reference"] for n in places]
        cells = [
            f"{corpus_scores([outputs[name][n] for n in places], references, metrics=('ter',))[0].value:.1f}"
            for name in ("the unit", "the model alone", "repaired", "preferred")
        ]
        rows.append([f"{low} to {high - 1}", str(len(places)), *cells])
        figures.setdefault("scores", {})[str(low)] = dict(
            zip(("unit", "model", "repaired", "preferred"), cells, strict=True)
        )
    page += table(["score", "texts", "TER: the unit", "the model alone", "repaired", "preferred"], rows)
    page += f"\n± is half of a 95 % interval; p by paired bootstrap. {repaired} texts were repaired; one run.\n"
    write("repair", page, json.loads(json.dumps(figures)))


if __name__ == "__main__":
    main()
