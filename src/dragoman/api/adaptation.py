"""Adapt a model to the approved units of translation memories, and use the result only if it is better.

Every adaptation starts from the same base model, with all approved units: errors of one do not enter the next. A part
of the units is never trained with: the newest ones, and a tenth of the older ones, chosen by a hash of the source. On
this text the new model must be significantly better than the model in use, and on general text not significantly worse
than the base. Nothing is trained if most of the new units are less like the translations of the model in use than the
older ones are: right and wrong corrections together can still make a better model.
"""

from __future__ import annotations

import getpass
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from dragoman.bundle import Bundle, write_bundle
from dragoman.bundle.locate import find_bundle
from dragoman.errors import ConfigError, DataError, DragomanError
from dragoman.files import file_lock, fsync, read_json_lines, write_json
from dragoman.run_files import BUNDLE, RUN

if TYPE_CHECKING:
    from dragoman.evaluation.results import Evaluation
    from dragoman.progress import Progress
    from dragoman.storage.memories import MemoryStore, StoredUnit
    from dragoman.training.callbacks.events import TrainerCallback

SETTINGS, RECORDS, VERSIONS = "adaptation.json", "adaptations.jsonl", "versions"
UNITS, CHANGES = "units.txt", "changes.jsonl"  # in the folder of a version
MIN_UNITS = 200
KEPT_VERSIONS = 5
_KEPT_CHANGES = 200
_HELD_OUT = 500  # most units of each of both test parts, and most general test sentences
_LORA_BELOW = 2000  # units; fewer train LoRA factors instead of all weights
_TOKENS_PER_PAIR, _PASSES, _BATCH_TOKENS = 20, 10, 1024
_UNLIKE, _MOST = 0.1, 0.5  # share of the older units that are the least alike; largest share of new ones like them
_COMPARED = 30  # fewer new or older units are not compared
_SHARES = (1.0, 0.6, 0.35, 0.2)  # of the change of the weights, while general text becomes worse
_METRIC = "chrf++"

_CONFIG = """\
[start]
bundle = {bundle}
vocabulary = "{vocabulary}"

[data]
source = {source}
target = {target}
validation = {{ files = ["validation.jsonl"] }}

[[data.train]]
files = ["units.jsonl"]
{rehearsal}
[training]
learning_rate = {rate}
schedule = "inverse-sqrt"
warmup_updates = {warmup}
max_updates = {updates}
batch_tokens = {batch}
label_smoothing = 0.1
validate_every = {validate}
patience = 5
{lora}"""


@dataclass(frozen=True)
class AdaptationSettings:
    """What a folder of adaptations starts from; `general` are two files with general text, line by line."""

    base: str
    memories: tuple[str, ...]
    general: tuple[str, str]
    key: str = ""
    overrides: tuple[str, ...] = ()
    """Settings of the training, such as training.learning_rate=1e-4."""


@dataclass(frozen=True)
class Adaptation:
    """The record of one adaptation, one line of adaptations.jsonl."""

    version: int
    is_used: bool
    reason: str
    """Why the model is used or not, in one line."""
    time: str = ""
    user: str = ""
    base: str = ""
    """Digest of the base model."""
    units: int = 0
    units_digest: str = ""
    method: str = ""
    scores: dict[str, dict[str, float]] = field(default_factory=dict)
    """By test set: the scores of both models, their difference and its p value."""


@dataclass(frozen=True)
class Change:
    """Translations of a unit that tests, by the model before and after an adaptation, which differ."""

    unit: str
    """Id of the unit, whose texts are in the database."""
    digest: str
    """Of its source, because another database has other units."""
    before: str
    after: str


@dataclass(frozen=True)
class _Parts:
    """Units and general text of one adaptation."""

    train: list[tuple[str, str]]
    validation: list[tuple[str, str]]
    test: list[tuple[str, str]]
    tested: list[StoredUnit]
    """The units of `test`."""
    rehearsal: list[tuple[str, str]]
    general: list[tuple[str, str]]


class AdaptationFolder:
    """A folder with a link `bundle` to the model in use, the last versions, and a record of every adaptation."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            found = json.loads((folder / SETTINGS).read_bytes())
            self.settings = AdaptationSettings(
                str(found["base"]),
                tuple(map(str, found["memories"])),
                (str(found["general"][0]), str(found["general"][1])),
                str(found["key"]),
                tuple(map(str, found["overrides"])),
            )
        except (OSError, ValueError, LookupError, TypeError):
            raise ConfigError(
                f"{folder} has no adaptations; begin with dragoman adapt {folder} --from MODEL --memory NAME "
                "--general FILE FILE"
            ) from None

    @classmethod
    def create(cls, folder: Path, settings: AdaptationSettings) -> AdaptationFolder:
        """Write the settings of a new folder, and let it use the base model."""
        if (folder / SETTINGS).exists():
            raise ConfigError(f"{folder} has adaptations already; leave out --from, --memory and --general")
        base = find_bundle(Path(settings.base)).path.absolute()
        _pairs_of(settings.general)
        _direction(Bundle.open(base))
        folder.mkdir(parents=True, exist_ok=True)
        if (folder / BUNDLE).exists():
            raise ConfigError(f"{folder / BUNDLE} exists already; name another folder")
        general = [str(Path(each).absolute()) for each in settings.general]
        write_json(folder / SETTINGS, asdict(settings) | {"base": str(base), "general": general})
        created = cls(folder)
        created._use(base)
        return created

    @property
    def records(self) -> list[Adaptation]:
        """All adaptations, the oldest first."""
        if not (self.folder / RECORDS).is_file():
            return []
        return [Adaptation(**each) for each in read_json_lines(self.folder / RECORDS)]

    @property
    def used_version(self) -> int:
        """The version in use; 0 is the base model."""
        used = (self.folder / BUNDLE).resolve()
        return int(used.parent.name) if used.is_relative_to((self.folder / VERSIONS).resolve()) else 0

    @property
    def versions(self) -> list[int]:
        """The versions that are kept, the oldest first."""
        return sorted(int(each.parent.name) for each in (self.folder / VERSIONS).glob(f"[0-9]*/{BUNDLE}"))

    def changes(self) -> list[Change]:
        """Return what the version in use changed, the newest units first."""
        path = self._path(self.used_version).with_name(CHANGES)
        return [Change(**each) for each in read_json_lines(path)] if path.is_file() else []

    def adapt(
        self,
        store: MemoryStore,
        *,
        callbacks: Sequence[TrainerCallback] = (),
        progress: Progress | None = None,
        tell: Callable[[str], None] = lambda _: None,
        is_reviewed: bool = False,
    ) -> Adaptation:
        """Train with all approved units, compare, and use the new model if it is better; `is_reviewed`: trust them."""
        with file_lock(self.folder / "lock") as is_ours:
            if not is_ours:
                raise ConfigError(f"another adaptation is running in {self.folder}; wait for it")
            bundle = Bundle.open(Path(self.settings.base))
            units = self._units(store, _direction(bundle))
            digest = hashlib.sha256(repr([(each.source, each.target) for each in units]).encode()).hexdigest()
            records = self.records
            version = 1 + max([0, *(each.version for each in records), *self.versions])
            empty = Adaptation(0, False, "", base=bundle.digest, units=len(units), units_digest=digest)
            last = next((each for each in reversed(records) if each.units_digest), None)
            if last is not None and last.units_digest == digest and not is_reviewed:
                return replace(empty, reason=f"no unit is new since version {last.version}")
            if len(units) < MIN_UNITS:
                return replace(empty, reason=f"the memories have {len(units):,} approved units, {MIN_UNITS} are needed")
            if not is_reviewed and (doubt := self._doubt(units)):
                return self._record(replace(empty, version=version, reason=doubt))
            work = self.folder / VERSIONS / f"{version:04d}"
            shutil.rmtree(work, ignore_errors=True)  # of an interrupted adaptation
            try:
                parts = self._split(units)
                method = "LoRA" if len(units) < _LORA_BELOW else "all weights"
                tell(f"{len(parts.train):,} units to train with, {len(parts.test):,} to test with; {method}")
                trained = _train(work, bundle, parts, self.settings.overrides, callbacks)
                chosen, share, evaluations, (is_better, reason, _) = self._choose(
                    work, bundle, trained, parts, progress
                )
                if is_better:
                    method += "" if share == 1 else f", {share:.0%} of the change"
                    _keep_bundle(work, chosen, units, _changes(parts, evaluations["domain"]))
                scores = {name: _scores(each) for name, each in evaluations.items()}
                made = replace(empty, version=version, is_used=is_better, reason=reason, method=method, scores=scores)
            finally:
                if not (work / BUNDLE).is_dir():
                    shutil.rmtree(work, ignore_errors=True)  # with its copies of texts
            if is_better:
                self._use(work / BUNDLE)
                self._remove_old()
            return self._record(made)

    def _doubt(self, units: Sequence[StoredUnit]) -> str:
        """Return why most units since the version in use may be wrong: they differ from its translations.

        Older units that did not train state how much right ones differ.
        """
        if not self.used_version:
            return ""
        lines = self._path(self.used_version).with_name(UNITS).read_text(encoding="utf-8").splitlines()
        known = {line.split("\t")[0] for line in lines}
        older = _spread([each for each in units if each.id in known and _share(each.source) < 0.1])
        new = _spread([each for each in units if each.id not in known])
        if min(len(older), len(new)) < _COMPARED:
            return ""
        from dragoman.api.translation.translator import Translator  # noqa: PLC0415 -- opening needs an engine
        from dragoman.evaluation.metrics.corpus_scores import sentence_scores  # noqa: PLC0415 -- needs sacrebleu

        with Translator.open(self.folder / BUNDLE) as translator:
            texts = [each.text for each in translator.translate([each.source for each in (*older, *new)])]
        scores = sentence_scores(texts, [each.target for each in (*older, *new)])
        least = sorted(scores[: len(older)])[int(_UNLIKE * len(older))]
        unlike = sum(score < least for score in scores[len(older) :])
        if unlike <= _MOST * len(new):
            return ""
        return (
            f"{unlike:,} of {len(new):,} new units are unlike the translations of the model in use (chrF++ below "
            f"{least:.0f}), {_UNLIKE:.0%} of the older ones are; correct wrong ones, or add --reviewed if all are right"
        )

    def _choose(
        self, work: Path, base: Bundle, trained: Path, parts: _Parts, progress: Progress | None
    ) -> tuple[Path, float, dict[str, Evaluation], tuple[bool, str, bool]]:
        """Return the trained model, or one nearer to the base if it is worse on general text; and its scores."""
        for share in _SHARES:
            chosen = trained if share == 1 else _blend(base, trained, share, work / "blend")
            evaluations = {
                "domain": _compare(self.folder / BUNDLE, chosen, parts.test, progress),
                "general": _compare(Path(self.settings.base), chosen, parts.general, progress),
            }
            decision = _decide(evaluations)
            if not decision[2] or share == _SHARES[-1]:
                return chosen, share, evaluations, decision
        raise AssertionError

    def back(self) -> Adaptation:
        """Use the version before the one in use, or the base model if there is none."""
        with file_lock(self.folder / "lock") as is_ours:
            if not is_ours:
                raise ConfigError(f"an adaptation is running in {self.folder}; wait for it")
            current = self.used_version
            if not current:
                raise ConfigError("the base model is in use, and there is no version before it")
            older = [each for each in self.versions if each < current]
            version = max(older, default=0)
            self._use(self._path(version) if version else Path(self.settings.base))
            reason = f"back from version {current} to {f'version {version}' if version else 'the base model'}"
            return self._record(Adaptation(current, False, reason))

    def _units(self, store: MemoryStore, direction: tuple[str, str]) -> list[StoredUnit]:
        """Return the approved units in the languages of the model, the oldest first, one per pair of texts."""
        found: dict[tuple[str, str], StoredUnit] = {}
        for name in self.settings.memories:
            memory = store.get(self.settings.key, name)
            for unit in store.units(memory, memory.find(*direction) or [-1]):
                known = found.get((unit.source, unit.target))
                if known is None or unit.created < known.created:
                    found[unit.source, unit.target] = unit
        return sorted(found.values(), key=lambda each: (each.created, each.id))

    def _split(self, units: Sequence[StoredUnit]) -> _Parts:
        """Divide units by time and by the hash of their source, so that no source is on both sides."""
        newest = {each.source for each in units[-min(max(len(units) // 10, 1), _HELD_OUT) :]}
        older = [source for source in dict.fromkeys(each.source for each in units) if _share(source) < 0.1]
        held_out = newest | set(older[:_HELD_OUT])
        tested = [each for each in units if each.source in held_out]
        test = [(each.source, each.target) for each in tested]
        rest = [(each.source, each.target) for each in units if each.source not in held_out]
        validation = [each for each in rest if 0.1 <= _share(each[0]) < 0.15][:_HELD_OUT]
        chosen = {source for source, _ in validation}
        train = [each for each in rest if each[0] not in chosen]
        if not train or not validation:
            raise DataError("the units have too few different sources to adapt a model; add more")
        general = _pairs_of(self.settings.general)
        some = min(_HELD_OUT, len(general) // 2)
        return _Parts(train, validation, test, tested, general[some:], general[:some])

    def _record(self, adaptation: Adaptation) -> Adaptation:
        signed = replace(adaptation, time=datetime.now(UTC).isoformat(timespec="seconds"), user=_user())
        with (self.folder / RECORDS).open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(signed), ensure_ascii=False) + "\n")
            file.flush()
            os.fsync(file.fileno())
        return signed

    def _use(self, bundle: Path) -> None:
        """Let the link point to another bundle, in one step."""
        link, draft = self.folder / BUNDLE, self.folder / f".{BUNDLE}.new"
        target = bundle.absolute()
        inside = target.is_relative_to(self.folder.absolute())
        draft.unlink(missing_ok=True)
        draft.symlink_to(target.relative_to(self.folder.absolute()) if inside else target)
        draft.replace(link)
        fsync(self.folder)

    def _path(self, version: int) -> Path:
        return self.folder / VERSIONS / f"{version:04d}" / BUNDLE

    def _remove_old(self) -> None:
        used = (self.folder / BUNDLE).resolve()
        for version in self.versions[:-KEPT_VERSIONS]:
            if self._path(version).resolve() != used:
                shutil.rmtree(self._path(version).parent)


def _direction(bundle: Bundle) -> tuple[str, str]:
    directions = [*bundle.config.data.all_directions()] if bundle.config.data else []
    if len(directions) != 1:
        raise ConfigError(f"the base model must have one direction, got {len(directions)}; name another with --from")
    return directions[0]


def _pairs_of(files: Iterable[str]) -> list[tuple[str, str]]:
    """Read the general text: two files with one sentence per line."""
    try:
        sides = [Path(each).read_text(encoding="utf-8").split("\n") for each in files]
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"--general must be two files of UTF-8 text: {error}") from None
    if len(sides[0]) != len(sides[1]):
        raise ConfigError(
            f"--general must be two files with the same number of lines, got {len(sides[0]):,} and {len(sides[1]):,}"
        )
    pairs = [(ours, theirs) for ours, theirs in zip(*sides, strict=True) if ours.strip() and theirs.strip()]
    if len(pairs) < MIN_UNITS:
        raise ConfigError(f"--general must have at least {MIN_UNITS} pairs, got {len(pairs):,}; add general text")
    return pairs


def _spread(units: Sequence[StoredUnit]) -> Sequence[StoredUnit]:
    return units[:: -(-len(units) // _HELD_OUT) or 1]


def _share(source: str) -> float:
    return int.from_bytes(hashlib.blake2b(source.encode(), digest_size=4).digest()) / 2**32


def _train(
    work: Path, bundle: Bundle, parts: _Parts, overrides: Sequence[str], callbacks: Sequence[TrainerCallback]
) -> Path:
    """Write a project and train it; return the folder of its bundle."""
    from dragoman.api.training.checked_training import open_training  # noqa: PLC0415 -- needs the extra train
    from dragoman.api.training.preparation import prepare_corpora  # noqa: PLC0415
    from dragoman.api.training.training_run import train_model  # noqa: PLC0415

    source, target = _direction(bundle)
    work.mkdir(parents=True)
    for name in ("train", "validation", "rehearsal"):
        pairs = getattr(parts, name)
        lines = (json.dumps({"translation": {source: ours, target: theirs}}) for ours, theirs in pairs)
        (work / f"{'units' if name == 'train' else name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    is_lora = len(parts.train) + len(parts.test) + len(parts.validation) < _LORA_BELOW
    updates = min(max(len(parts.train) * _TOKENS_PER_PAIR * _PASSES // _BATCH_TOKENS, 50), 10_000)
    config = _CONFIG.format(
        bundle=json.dumps(str(bundle.folder.absolute()), ensure_ascii=False),
        vocabulary="same" if is_lora else "extend",
        source=json.dumps(source),
        target=json.dumps(target),
        rehearsal='\n[[data.train]]\nfiles = ["rehearsal.jsonl"]\nshare = 0.3\n' if parts.rehearsal else "",
        rate="1e-3" if is_lora else "2e-4",
        warmup=min(100, updates // 4),
        updates=updates,
        batch=_BATCH_TOKENS,
        validate=max(updates // 10, 20),
        lora="\n[training.lora]\nrank = 16\n" if is_lora else "",
    )
    project = work / "dragoman.toml"
    project.write_text(config, encoding="utf-8")
    training = open_training(project, None, overrides, work / RUN, prepare=prepare_corpora)
    trained = train_model(training, callbacks=callbacks)
    if trained.bundle is None:
        raise DragomanError("the training was stopped; run the same command to begin it again")
    return trained.bundle.folder


def _compare(one: Path, other: Path, pairs: Sequence[tuple[str, str]], progress: Progress | None) -> Evaluation:
    from dragoman.api.evaluation.evaluator import evaluate_systems  # noqa: PLC0415 -- needs sacrebleu
    from dragoman.api.evaluation.system_arguments import System  # noqa: PLC0415
    from dragoman.config.evaluation import EvaluationSettings  # noqa: PLC0415

    settings = EvaluationSettings(metrics=("chrf", "bleu"), baseline="before", by_length=False, flags=False)
    sources, references = ([each[side] for each in pairs] for side in (0, 1))
    systems = [System("before", (one,)), System("after", (other,))]
    return evaluate_systems(systems, sources, references, settings, progress=progress)


def _scores(evaluation: Evaluation) -> dict[str, float]:
    before, after = evaluation.systems
    test = after.test(_METRIC)
    assert test is not None
    found = {"sentences": float(evaluation.test_set.sentences), "difference": test.difference, "p": test.p_value}
    for name, each in (("before", before), ("after", after)):
        found |= {f"{score.metric}_{name}": score.value for score in each.scores}
    return found


def _decide(evaluations: dict[str, Evaluation]) -> tuple[bool, str, bool]:
    """Return whether the new model may be used, why, and whether only general text speaks against it."""
    tests = {name: each.systems[1].test(_METRIC) for name, each in evaluations.items()}
    domain, general = tests["domain"], tests["general"]
    assert domain is not None
    assert general is not None
    texts = {
        name: f"chrF++ {each.difference:+.1f}, p = {each.p_value:.3f}"
        for name, each in (("domain", domain), ("general", general))
    }
    if domain.difference <= 0 or not domain.is_significant:
        return False, f"not significantly better on held-out units ({texts['domain']})", False
    if general.difference < 0 and general.is_significant:
        return False, f"significantly worse on general text ({texts['general']})", True
    reason = f"better on held-out units ({texts['domain']}), not worse on general text ({texts['general']})"
    return True, reason, False


def _blend(base: Bundle, changed: Path, share: float, output: Path) -> Path:
    """Write a bundle between two: weights of the base plus a share of their change (Wortsman 2022)."""
    trained = Bundle.open(changed)
    shutil.rmtree(output, ignore_errors=True)
    weights = {name: each.copy() for name, each in trained.weights().items()}
    for name, old in base.weights().items():
        known = weights[name][tuple(slice(size) for size in old.shape)]  # new tokens have no old weights
        known[...] = old + share * (known - old)
    note = f"Its weights have {share:.0%} of the change; scores above are those of all of it."
    card = f"{trained.card().rstrip()}\n\n{note}\n"
    config = trained.config.model_copy(update={"inference": trained.inference()})
    return write_bundle(output, config, weights, trained.tokenizers(), card, shortlist=trained.shortlist()).folder


def _changes(parts: _Parts, evaluation: Evaluation) -> list[Change]:
    """Return the test units whose translation changed, the newest first."""
    before, after = (each.members[0].hypotheses for each in evaluation.systems)
    pairs = zip(parts.tested, before, after, strict=True)
    found = [Change(unit.id, source_digest(unit.source), old, new) for unit, old, new in pairs if old != new]
    return found[::-1][:_KEPT_CHANGES]


def source_digest(source: str) -> str:
    """Return what tells the units of one database from those of another."""
    return hashlib.blake2b(source.encode(), digest_size=8).hexdigest()


def _keep_bundle(work: Path, trained: Path, units: Sequence[StoredUnit], changes: Sequence[Change]) -> None:
    """Leave the bundle, the ids of its units and what it changed in the folder of a version, and no texts."""
    (work / CHANGES).write_text("".join(json.dumps(asdict(each)) + "\n" for each in changes), encoding="utf-8")
    (work / UNITS).write_text("".join(f"{each.id}\t{each.author}\n" for each in units), encoding="utf-8")
    trained.rename(work / BUNDLE)
    for each in [*work.iterdir()]:
        if each.name not in (BUNDLE, UNITS, CHANGES):
            shutil.rmtree(each) if each.is_dir() else each.unlink()


def _user() -> str:
    with suppress(OSError, KeyError, ImportError):
        return getpass.getuser()
    return ""
