"""A month of a translator replayed: how much of the drafts has to be changed, with memories and with nights.

    python -m benchmarks.month MODEL --messages FILE --tests DIR --monolingual FILE --work DIR [--wrong FILE]

MODEL is the folder of Firefox's en→pt student, as Firefox downloads it. FILE is a TSV file with real texts and their
translations, gzip. They are translated in batches of 150. After each batch the "translator" corrects every draft to the
reference: the correction is stored in a memory, approved, and counts for the next batch. The draft of a text is

- *model alone*: the translation of the student;
- *+ exact*: the memory's translation if it has the text, also with other numbers or placeholders (scores from 99);
- *+ fuzzy shown*: the translation of the most similar unit if its score is 75 or more;
- *+ repaired*: instead, similar units from 70 on are repaired by the model (`--memory-repair`);
- *+ nights*: the same, and after batches 5 and 10 `dragoman adapt` begins again with the student and learns all
  corrections. The new model is used only if its gate permits.

Effort is TER: the word edits from the drafts to the references for 100 words of the references. "Typed" are characters
that are inserted or replaced, by the shortest edit of characters. The end of the month is all that follows the last
night. Three orders: that of the file, which is alphabetical, so that similar texts are often in one batch; blocks of 15
neighbours in random order; single texts in random order. The student decodes as `dragoman translate` does, placeholders
are kept.

The general text of the gate is every other line of FLORES devtest in DIR (`flores-test.en.gz`, `.pt.gz`), at most 500,
and for rehearsal lines of the monolingual FILE with the student's own translations. The other half of FLORES tests the
model of the last night. `--wrong` names the same messages in another language: in the control, the day after the last
night of the first order has 500 corrections: the right ones, translations of other messages, or of that language.

What is finished is kept in WORK: an interrupted command continues.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import random
import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rapidfuzz.distance import Levenshtein

from benchmarks.reporting import RESULTS, heading, parser, table, write
from dragoman import Translator
from dragoman.api.adaptation import Adaptation, AdaptationFolder, AdaptationSettings
from dragoman.evaluation.significance import corpus_statistics, paired_tests
from dragoman.importing.import_model import import_model
from dragoman.storage.database import Database
from dragoman.storage.memories import MemoryStore, Unit
from dragoman.storage.memory_reader import MemoryReader

Pair = tuple[str, str]

PAIR = ("en", "pt")
BATCH, NIGHTS, ORDERS, BLOCK = 150, (5, 10), 3, 15
FUZZY = 75
"""Smallest score of a similar unit that is the draft: the default of DeepL's API."""
GOAL = 0.6
SETTINGS = ("training.max_updates=40", "training.threads=1", "training.validation_sentences=0")
"""They bound a night to a few minutes of one core."""
WRONG = 500
NAME = "month"
WAYS = {
    "model": "model alone",
    "exact": "+ exact",
    "fuzzy": "+ fuzzy shown",
    "repaired": "+ repaired",
    "nights": "+ nights",
}
COLOURS = {"model": "#7a7a7a", "exact": "#2c3e8f", "fuzzy": "#2e8b57", "repaired": "#d68910", "nights": "#c0392b"}


class Month(NamedTuple):
    """What a replay needs to know."""

    base: Path
    languages: Pair
    general: tuple[str, str]
    batch: int = BATCH
    nights: tuple[int, ...] = NIGHTS
    settings: tuple[str, ...] = SETTINGS


def read(path: Path) -> list[str]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return file.read().splitlines()


def in_order(pairs: Sequence[Pair], order: int) -> list[Pair]:
    """Return texts in the order of the file (0), blocks of neighbours in random order (1), or texts in random order."""
    size = BLOCK if order < 2 else 1
    blocks = [pairs[start : start + size] for start in range(0, len(pairs), size)]
    if order:
        random.Random(order).shuffle(blocks)
    return [pair for block in blocks for pair in block]


@contextlib.contextmanager
def new_memory(path: Path) -> Any:
    """Open an empty memory in a file of its own."""
    for old in path.parent.glob(f"{path.name}*"):
        old.unlink()
    with contextlib.closing(Database.open(f"sqlite:///{path}")) as database:
        store = MemoryStore(database)
        store.create("", NAME)
        yield store


def correct(store: MemoryStore, languages: Pair, pairs: Sequence[Pair]) -> None:
    """Store corrections, approved as those of a key that may approve."""
    for pair in pairs:
        store.correct(store.get("", NAME), *languages, Unit(*pair, author="translator", origin="correction"))


def adaptations_of(folder: Path, month: Month) -> AdaptationFolder:
    if (folder / "adaptation.json").exists():
        return AdaptationFolder(folder)
    return AdaptationFolder.create(
        folder, AdaptationSettings(str(month.base), (NAME,), month.general, overrides=month.settings)
    )


def model_after(adaptations: AdaptationFolder, nights: int) -> Path:
    """Return the bundle that is in use after a number of nights."""
    used = [each.version for each in adaptations.records[:nights] if each.is_used]
    return adaptations._path(used[-1]) if used else Path(adaptations.settings.base)  # noqa: SLF001


def replay(month: Month, pairs: Sequence[Pair], folder: Path) -> list[dict[str, Any]]:
    """Translate batch by batch with the model alone, and return the drafts of each text."""
    folder.mkdir(parents=True, exist_ok=True)
    found: list[dict[str, Any]] = []
    with new_memory(folder / "month.db") as store, Translator.open(month.base, threads=1) as base:
        for some in batches(month, pairs):
            found += drafts(base, MemoryReader(store, (store.get("", NAME),)), some)
            correct(store, month.languages, some)
    return found


def replay_nights(month: Month, pairs: Sequence[Pair], folder: Path) -> list[dict[str, Any]]:
    """Return the drafts of each text, with those of the adapted models; nights that are done are not repeated."""
    segments: list[dict[str, Any]] = json.loads((folder / "memories.json").read_text("utf-8"))
    adaptations = adaptations_of(folder / "adapted", month)
    night = 0
    with contextlib.ExitStack() as stack:
        store: MemoryStore = stack.enter_context(new_memory(folder / "nights.db"))
        adapted: Translator | None = None
        for number, some in enumerate(batches(month, pairs), 1):
            if adapted is not None:
                adapted.memory = MemoryReader(store, (store.get("", NAME),), repairs=True)
                texts = adapted.translate([source for source, _ in some])
                for place, each in enumerate(texts, (number - 1) * month.batch):
                    segments[place]["nights"] = each.text
            correct(store, month.languages, some)
            if number in month.nights:
                night += 1
                if len(adaptations.records) < night:
                    print(folder.name, "night", night, adaptations.adapt(store, tell=print).reason, flush=True)
                adapted = stack.enter_context(Translator.open(model_after(adaptations, night), threads=1))
    return segments


def batches(month: Month, pairs: Sequence[Pair]) -> list[Sequence[Pair]]:
    return [pairs[start : start + month.batch] for start in range(0, len(pairs), month.batch)]


def drafts(base: Translator, reader: MemoryReader, pairs: Sequence[Pair]) -> list[dict[str, Any]]:
    """Return the drafts of a batch in every way but nights, which begin with the best of them."""
    sources = [source for source, _ in pairs]
    ways = []
    for memory in (None, reader, replace(reader, repairs=True)):
        base.memory = memory
        ways.append(base.translate(sources))
    fuzzy = replace(reader, used=FUZZY)
    found = []
    for (source, target), alone, exact, repaired in zip(pairs, *ways, strict=True):
        similar = fuzzy.chosen(exact.matches)
        texts = {"model": alone.text, "exact": exact.text, "fuzzy": exact.text if similar is None else similar.text}
        texts |= {"repaired": repaired.text, "nights": repaired.text}
        score = exact.matches[0].score if exact.matches else 0
        found.append({"source": source, "reference": target, "score": score, **texts})
    return found


def typed(draft: str, reference: str) -> int:
    """Characters that are inserted or replaced."""
    return sum(each.tag != "delete" for each in Levenshtein.editops(draft, reference))


def measure(segments: Sequence[dict[str, Any]], ways: Iterable[str] = WAYS) -> dict[str, np.ndarray]:
    """Edits, characters typed, and lengths of each segment. Shapes: [segments, 4]."""
    references = [each["reference"] for each in segments]
    found = {}
    for way in ways:
        texts = [each[way] for each in segments]
        (ter,) = corpus_statistics(texts, references, metrics=("ter",))
        keys = [[typed(*pair), len(pair[1])] for pair in zip(texts, references, strict=True)]
        found[way] = np.hstack([ter.counts, np.array(keys)])
    return found


def ratio(ours: np.ndarray, theirs: np.ndarray, column: int) -> dict[str, float]:
    """The effort relative to another, with an interval by resampling segments."""
    drawn = np.random.default_rng(1).integers(len(ours), size=(2000, len(ours)))
    resampled = ours[drawn, column].sum(1) / theirs[drawn, column].sum(1)
    low, high = np.percentile(resampled, [2.5, 97.5])
    return {"ratio": float(ours[:, column].sum() / theirs[:, column].sum()), "low": float(low), "high": float(high)}


def effort_of(counts: np.ndarray) -> dict[str, float]:
    edits, words, keys, letters = counts.sum(0)
    return {"ter": 100 * edits / words, "typed": 100 * keys / letters}


def general_files(given: Any, base: Path) -> tuple[tuple[str, str], list[list[str]]]:
    """Write the text of the gate, and return the half of FLORES that tests."""
    sides = [read(given.tests / f"flores-test.{side}.gz") for side in ("en", "pt")]
    paths = tuple(str(given.work / f"general.{side}") for side in ("en", "pt"))
    if not Path(paths[1]).exists():
        lines = [line for line in read(given.monolingual) if 3 <= len(line.split()) <= 40]
        lines = lines[:: max(1, len(lines) // given.rehearsal)][: given.rehearsal]
        with Translator.open(base, threads=1) as translator:
            own = [each.text for each in translator.translate(lines)]
        for path, side, more in zip(paths, sides, (lines, own), strict=True):
            Path(path).write_text("".join(f"{line}\n" for line in (*side[::2][:500], *more)), encoding="utf-8")
    return (paths[0], paths[1]), [side[1::2] for side in sides]


def test_general(model: Path, base: Path, lines: list[list[str]]) -> dict[str, Any]:
    """Compare a model with the base on general text."""
    outputs = []
    for each in (base, model):
        with Translator.open(each, threads=1) as translator:
            outputs.append([found.text for found in translator.translate(lines[0])])
    (tests,) = paired_tests(outputs[0], outputs[1:], lines[1], metrics=("chrf", "bleu"), language="pt")
    return {each.metric: {"difference": each.difference, "p": each.p_value} for each in tests}


def poison(month: Month, pairs: Sequence[Pair], wrong: Sequence[str], folder: Path, after: Path) -> dict[str, Any]:
    """Adapt again after a day of wrong corrections; `after` is the folder of the month, `wrong` their targets."""
    known = pairs[: month.batch * month.nights[-1]]
    sources = [source for source, _ in pairs[len(known) :]][: len(wrong)]
    if not (folder / "adapted").exists():
        shutil.copytree(after / "adapted", folder / "adapted", symlinks=True)
    adaptations = AdaptationFolder(folder / "adapted")
    if len(adaptations.records) == len(month.nights):
        with new_memory(folder / "month.db") as store:
            correct(store, month.languages, known)
            correct(store, month.languages, list(zip(sources, wrong, strict=True)))
            adaptations.adapt(store, tell=print)
    return vars_of(adaptations.records[len(month.nights)])


def vars_of(made: Adaptation) -> dict[str, Any]:
    keys = ("version", "is_used", "reason", "units", "method", "scores")
    return {key: getattr(made, key) for key in keys}


def wrong_targets(given: Any, pairs: Sequence[Pair], first: int) -> dict[str, list[str]]:
    """Return 500 translations of the texts after the first ones: the right ones, and wrong ones in two ways."""
    rest = list(pairs[first : first + WRONG])
    others = [target for _, target in rest]
    random.Random(1).shuffle(others)
    found = {"right ones": [target for _, target in rest], "translations of other messages": others}
    if given.wrong:
        known = dict(line.split("\t")[:2] for line in read(given.wrong))
        found["another language"] = [known[source] for source, _ in rest]
    return found


def main() -> None:
    options = parser(__doc__)
    options.add_argument("model", type=Path)
    for name in ("messages", "tests", "monolingual", "work"):
        options.add_argument(f"--{name}", type=Path, required=True)
    options.add_argument("--wrong", type=Path)
    options.add_argument("--rehearsal", type=int, default=1000, help="monolingual lines for rehearsal")
    options.add_argument("--orders", type=int, default=ORDERS)
    options.add_argument("--memories-only", action="store_true", help="without nights, which take most of the time")
    given = options.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    base = given.work / "base"
    if not base.exists():
        import_model(given.model, base, languages=PAIR)
    pairs: list[Pair] = [(source, target) for source, target in (line.split("\t")[:2] for line in read(given.messages))]
    orders = {given.work / f"order-{number}": in_order(pairs, number) for number in range(given.orders)}
    for folder, texts in orders.items():
        once(folder / "memories.json", partial(replay, Month(base, PAIR, ("", "")), texts, folder))
    report(orders, given.work)
    if given.memories_only:
        return
    general, rest = general_files(given, base)
    month = Month(base, PAIR, general)
    for folder, texts in orders.items():
        once(folder / "nights.json", partial(replay_nights, month, texts, folder))
        last = model_after(AdaptationFolder(folder / "adapted"), len(month.nights))
        once(folder / "general.json", partial(test_general, last, base, rest))
        report(orders, given.work)
        for name, wrong in wrong_targets(given, pairs, BATCH * NIGHTS[-1]).items():  # after the first order
            first = given.work / "order-0"
            poisoned = partial(poison, month, pairs, wrong, given.work / name.replace(" ", "-"), first)
            once(given.work / f"control {name}.json", poisoned)
        report(orders, given.work)


def once(path: Path, make: Callable[[], Any]) -> Any:
    """Read a result, which is made and stored if it does not exist."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        made = json.dumps(make(), ensure_ascii=False)
        path.write_text(made, encoding="utf-8")
    return json.loads(path.read_text("utf-8"))


def figures(folder: Path) -> dict[str, Any]:
    """Efforts by batch and at the end of a month, with nights if they are done."""
    is_done = (folder / "nights.json").exists()
    segments = json.loads((folder / ("nights.json" if is_done else "memories.json")).read_text("utf-8"))
    counts = measure(segments, [way for way in WAYS if is_done or way != "nights"])
    starts = range(0, len(segments), BATCH)
    end = BATCH * NIGHTS[-1]
    scores = np.array([each["score"] for each in segments])
    found = {
        "batches": {way: [effort_of(each[start : start + BATCH]) for start in starts] for way, each in counts.items()},
        "all": {way: effort_of(each) for way, each in counts.items()},
        "end": {
            way: effort_of(each[end:])
            | {name: ratio(each[end:], counts["model"][end:], column) for name, column in (("of", 0), ("keys", 2))}
            for way, each in counts.items()
        },
        "scores": {
            "from 99": float((scores >= 99).mean()),
            "70 to 98": float(((scores >= 70) & (scores < 99)).mean()),
        },
    }
    if is_done:
        found["nights"] = [vars_of(each) for each in AdaptationFolder(folder / "adapted").records]
    if (folder / "general.json").exists():
        found["general"] = json.loads((folder / "general.json").read_text("utf-8"))
    return found


def draw(months: list[dict[str, Any]]) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, len(months), figsize=(4.2 * len(months), 3.9), sharey=True, squeeze=False)
    for number, (axis, month) in enumerate(zip(axes[0], months, strict=True)):
        for way, found in month["batches"].items():
            efforts = [each["ter"] for each in found]
            axis.plot(range(1, len(efforts) + 1), efforts, color=COLOURS[way], label=WAYS[way], marker=".")
        for night in NIGHTS if "nights" in month else ():
            axis.axvline(night + 0.5, color="#b0b0b0", linestyle=":")
        axis.set(title=ORDER_NAMES[number], xlabel=f"batch of {BATCH}", ylim=(0, None))
        axis.grid(alpha=0.3)
    axes[0][0].set_ylabel("edits per 100 words")
    axes[0][-1].legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(RESULTS / "month.png", dpi=110)


ORDER_NAMES = ("order of the file", "blocks in random order", "random order")


def cells(end: dict[str, Any], key: str, part: str) -> list[str]:
    found = end[part]
    return [f"{end[key]:.1f}", f"{found['ratio']:.2f} ({found['low']:.2f}–{found['high']:.2f})"]


def report(orders: dict[Path, list[Pair]], work: Path) -> None:
    """Write the page and the chart from what is done."""
    months = [figures(folder) for folder in orders]
    controls = {
        each.stem.removeprefix("control "): json.loads(each.read_text("utf-8")) for each in work.glob("control *")
    }
    draw(months)
    names = ORDER_NAMES[: len(months)]
    text = heading("A month of a translator, replayed", "python -m benchmarks.month MODEL …", 1)
    text += f"\n{(__doc__ or '').replace('    python', '    $ python')}\n![effort by batch](month.png)\n\n"
    size = len(next(iter(orders.values())))
    text += (
        f"{size:,} texts, as many as the file has. The end of the month has {size - BATCH * NIGHTS[-1]:,} of them.\n\n"
    )
    for title, key, part in (("TER", "ter", "of"), ("characters typed of 100", "typed", "keys")):
        rows = []
        for way, name in WAYS.items():
            found = [month["end"].get(way) for month in months]
            rows.append([name, *(cell for end in found for cell in (cells(end, key, part) if end else ["–", "–"]))])
        header = [
            f"{title}, end of the month",
            *(part for name in names for part in (name, "share of the model alone")),
        ]
        text += table(header, rows) + "\n"
    text += "In brackets: 95 % of 2,000 resamples of the texts.\n\n"
    ratios = [month["end"]["nights"]["of"]["ratio"] for month in months if "nights" in month]
    if ratios:
        reached = sum(each <= GOAL for each in ratios)
        text += (
            f"The goal, at most {GOAL} of the effort with the model alone, is reached in {reached} of {len(ratios)} "
            f"orders: {', '.join(f'{each:.2f}' for each in ratios)}.\n\n"
        )
    rows = []
    for name, month in zip(names, months, strict=True):
        scores = month["scores"]
        text += (
            f"{name.capitalize()}: {scores['from 99']:.1%} of all texts had a match from 99, "
            f"{scores['70 to 98']:.1%} one from 70 to 98."
        )
        if "general" in month:
            found = [f"{key} {each['difference']:+.1f} (p = {each['p']:.3f})" for key, each in month["general"].items()]
            text += (
                f" The last night's model on the other half of FLORES, compared with the student: {', '.join(found)}."
            )
        text += "\n"
        for number, night in enumerate(month.get("nights", ()), 1):
            rows.append([f"{name}, night {number}", f"{night['units']:,}", night["method"], night["reason"]])
    if rows:
        text += f"\nNights, with the settings {', '.join(SETTINGS)}:\n\n"
        text += table(["night", "units", "trained", "the gate"], rows)
    if controls:
        text += f"\nThe control, {WRONG} corrections after the last night of the first order:\n\n"
        rows = [
            [name, f"{each['units']:,}", each["method"], "yes" if each["is_used"] else "no", each["reason"]]
            for name, each in controls.items()
        ]
        text += table(["corrections", "units", "trained", "used", "the gate"], rows)
    write("month", text, {"orders": months, "controls": controls})


if __name__ == "__main__":
    main()
