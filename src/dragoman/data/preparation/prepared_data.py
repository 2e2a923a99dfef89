"""Read prepared data from disk: manifest, shards and tokenizers."""

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from dragoman.config import Config, DataConfig
from dragoman.data.augmentation import Augmentation
from dragoman.data.batch_plan import BatchPlan, CorpusRows
from dragoman.data.readers.streams import is_url, join_names
from dragoman.data.shards import DirectedShards, DirectionView, Shards
from dragoman.data.token_pairs import SIDES
from dragoman.errors import ConfigError, DataError
from dragoman.files import read_json, sha256_of_file
from dragoman.text import Tokenizer, language_token_id, tokenizer_from_bytes
from dragoman.text.language_tokens import begin_tokens, language_place

MANIFEST = "manifest.json"
REPORT = "report.json"

FORMAT = 2
"""Version of the manifest."""

_REMEDY = "run dragoman prepare again"
_OTHER_SETTINGS = (
    "run dragoman prepare with the same --set options, which replaces the data, or set data.folder to another folder "
    "and keep the data for the runs that need them"
)
_MOST_HASHED = 1 << 27  # bytes of all corpus files together


@dataclass(frozen=True)
class PreparedData:
    """Output of ``dragoman prepare``: shards, tokenizers, and a manifest with the hash of each file."""

    folder: Path
    manifest: dict[str, Any] = field(repr=False)

    @classmethod
    def open(cls, folder: Path | str) -> Self:
        """Read the manifest, and check that every file exists with the right size."""
        folder = Path(folder)
        manifest = read_json(folder / MANIFEST)
        if manifest is None:
            raise DataError(f"{folder} has no prepared data; run dragoman prepare first")
        if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
            found = manifest.get("format") if isinstance(manifest, dict) else None
            raise DataError(f"{folder / MANIFEST} must be of format {FORMAT}, got {found!r}; {_REMEDY}")
        try:
            prepared = cls(folder, manifest)
            files = [(path, entry, entry["bytes"], entry["sha256"]) for path, entry in prepared._files()]
        except (AttributeError, KeyError, TypeError, ValueError):
            raise DataError(f"{folder / MANIFEST} does not list prepared files; {_REMEDY}") from None
        for path, entry, _, _ in files:
            size = path.stat().st_size if path.is_file() else None
            if size != entry["bytes"]:
                got = "no file" if size is None else f"{size:,} bytes"
                raise DataError(f"{path} must have {entry['bytes']:,} bytes, got {got}; {_REMEDY}")
        return prepared

    def verify(self) -> None:
        """Compare every file with its hash; this reads all files."""
        for path, entry in self._files():
            if sha256_of_file(path) != entry["sha256"]:
                raise DataError(f"{path} was changed after it was prepared; {_REMEDY}")

    def check_settings(self, config: Config, *, fix: str = "") -> None:
        """Raise `DataError`, which ends with `fix`, unless the settings are those of the preparation."""
        data_of(config)
        if others := _differences(settings_of(config), self.manifest["settings"]):
            raise DataError(
                f"{self.folder} was prepared with other settings than those of the configuration: {', '.join(others)}; "
                f"{fix or _OTHER_SETTINGS}"
            )

    def input_changes(self, folder: Path) -> list[str]:
        """Return notes on corpus files that are missing, or newer and different (large ones: by their times)."""
        prepared = (self.folder / MANIFEST).stat().st_mtime_ns
        missing, changed, newer, budget = [], [], [], _MOST_HASHED
        for name, digest in self.manifest.get("inputs", {}).items():
            path = folder / name
            if is_url(name) or path.absolute().is_relative_to(self.folder.absolute()):
                continue  # standard input was saved in the folder of the preparation
            try:
                status = path.stat()
                if status.st_mtime_ns <= prepared:
                    continue
                if status.st_size > budget:
                    newer.append(name)
                    continue
                budget -= status.st_size
                if sha256_of_file(path) != digest:
                    changed.append(name)
            except OSError:
                missing.append(name)
        notes = []
        if changed:
            notes.append(
                f"{join_names(changed)} changed after dragoman prepare: training uses the text that was prepared; to "
                "use the new text, run dragoman prepare and train a new run"
            )
        if newer:
            are, their = ("is", "its") if len(newer) == 1 else ("are", "their")
            notes.append(
                f"{join_names(newer)} {are} newer than the prepared data; if {their} text changed, run dragoman "
                "prepare and train a new run to use the new text"
            )
        if missing:
            notes.append(f"{join_names(missing)} cannot be read any more: training uses the text that was prepared")
        return notes

    def shards(self, split: str = "train") -> Shards:
        listed = self._split(split)["shards"]
        return Shards([self.folder / shard["path"] for shard in listed], [shard["rows"] for shard in listed])

    def directed(self, config: Config, split: str = "train") -> Shards | DirectedShards:
        """Return the pairs of a set in all directions of the configuration; with one direction, those of the shards."""
        return self._directed(config, self.shards(split), self._split(split)["corpora"])

    def links(self, config: Config) -> Shards | DirectedShards:
        """Return the links between the tokens of the training pairs: their positions on both sides, as of `Pairs`."""
        listed = self.manifest.get("links")
        if listed is None:
            raise DataError(
                f"{self.folder} has no word links, which [training.guided_alignment] needs; run dragoman prepare "
                "again, which adds them"
            )
        shards = Shards([self.folder / shard["path"] for shard in listed], [shard["rows"] for shard in listed])
        return self._directed(config, shards, self._split("train")["corpora"])

    def _directed(self, config: Config, shards: Shards, corpora: list[dict[str, Any]]) -> Shards | DirectedShards:
        data = config.data
        if data is None or not data.is_multilingual:
            return shards
        tokenizer = self.tokenizers()["source"]
        views = []
        for corpus in corpora:
            stored = tuple(corpus["directions"][0])
            for direction in map(tuple, corpus["directions"]):
                prefixes = (
                    tuple(language_token_id(tokenizer, token) for token in each)
                    for each in begin_tokens(data, direction)
                )
                views.append(DirectionView(corpus["first_row"], corpus["rows"], direction != stored, *prefixes))
        return DirectedShards(shards, views)

    def plan(self, config: Config, split: str = "train") -> BatchPlan:
        """Return the batch plan of a configuration; its settings must be those of the preparation."""
        self.check_settings(config)
        assert config.data is not None
        corpora = self._split(split)["corpora"]
        draws: list[tuple[float, float | None]] = [(1.0, None)] * len(corpora)
        if split == "train":
            draws = [(each.weight, each.share) for each in config.data.train_pairs()]
        found: list[CorpusRows] = []
        for corpus, (weight, share) in zip(corpora, draws, strict=True):
            directions = len(corpus.get("directions", [0]))
            for _ in range(directions):
                first = sum(each.rows for each in found) if "directions" in corpus else corpus["first_row"]
                part = None if share is None else share / directions
                found.append(CorpusRows(corpus["name"], first, corpus["rows"], weight, part))
        sampling = config.data.sampling
        directed = self.directed(config, split)
        augmentation = None
        if split == "train" and config.data.augment is not None:
            ends = [each.first_row + each.rows for each in found if each.rows]
            augmentation = Augmentation.of(config, self.tokenizers(), directed.lengths, directed.gather, ends)
        return BatchPlan(
            found,
            directed.lengths,
            seed=config.training.seed,
            batch_tokens=config.training.batch_tokens,
            window=sampling.window,
            temperature=sampling.temperature,
            identity=self._identity(config, language_place(config.data)),
            augmentation=augmentation,
        )

    def _identity(self, config: Config, language_tokens: str | None) -> int:
        """Return a hash of the tokens in the batches, and of their links if these are used."""
        assert config.data is not None
        links = [] if config.training.guided_alignment is not None else self.manifest.get("links", [])
        entries = [entry for entry in listed_files(self.manifest) if entry not in links]
        parts = [entry["sha256"] for entry in entries] + [str(config.data.sampling.subword_temperature)]
        parts += [language_tokens] if language_tokens else []
        return int(hashlib.sha256(" ".join(parts).encode()).hexdigest()[:16], 16)

    def tokenizers(self) -> dict[str, Tokenizer]:
        """Return the tokenizer of each side; a joint one is one object. Files are verified before parsing."""
        read: dict[str, Tokenizer] = {}
        for side in SIDES:
            entry = self.manifest["tokenizers"][side]
            if entry["path"] not in read:
                path = self.folder / entry["path"]
                content = path.read_bytes()
                if hashlib.sha256(content).hexdigest() != entry["sha256"]:
                    raise DataError(f"{path} was changed after it was prepared; {_REMEDY}")
                read[entry["path"]] = tokenizer_from_bytes(path.name, content)
        return {side: read[self.manifest["tokenizers"][side]["path"]] for side in SIDES}

    def _files(self) -> list[tuple[Path, dict[str, Any]]]:
        return [(self.folder / entry["path"], entry) for entry in listed_files(self.manifest)]

    def _split(self, name: str) -> dict[str, Any]:
        splits: dict[str, dict[str, Any]] = self.manifest["splits"]
        if name not in splits:
            raise DataError(f"{self.folder} must hold a set called {name}, got {', '.join(splits)}; {_REMEDY}")
        return splits[name]


def data_of(config: Config) -> DataConfig:
    """Return the section ``[data]`` of a configuration, which presets do not have."""
    if config.data is None:
        raise ConfigError("the configuration has no [data] section; dragoman new writes one for your files")
    return config.data


def _differences(one: Any, other: Any, place: str = "") -> list[str]:
    """Return the names of the settings that differ."""
    if isinstance(one, dict) and isinstance(other, dict):
        names = sorted({*one, *other})
        return [found for name in names for found in _differences(one.get(name), other.get(name), f"{place}.{name}")]
    return [] if one == other else [place.removeprefix(".")]


def listed_files(manifest: dict[str, Any]) -> list[dict[str, Any]]:
    """Return every file of a manifest, with its path, size and hash."""
    entries = list(manifest["tokenizers"].values())
    entries += [shard for split in manifest["splits"].values() for shard in split["shards"]]
    entries += manifest.get("links", [])
    return [*entries, *manifest["texts"], manifest["report"]]


def settings_of(config: Config) -> dict[str, Any]:
    """Return the settings that prepared data depends on, without those of training only."""
    assert config.data is not None
    data = config.data.model_dump(exclude={"folder", "sampling", "augment", "on_bad_line", "language_tokens"})
    data["replaces_bad_bytes"] = False  # of earlier versions
    for corpus in data["train"]:
        corpus.pop("weight")
    for corpus in (*data["train"], *data["test"], data["validation"] or {}):
        corpus.pop("share", None)
        for name in ("languages", "both_directions", "validation"):  # unknown to earlier versions
            if corpus.get(name) is None:
                corpus.pop(name, None)
    if config.start is None:
        if config.data.augment is not None and (kinds := config.data.augment.vocabulary_kinds):
            data["augment"] = dict.fromkeys(kinds, True)  # unknown to earlier versions
        return {"data": data, "tokenizer": config.tokenizer.model_dump()}
    unused = (
        {"new_tokens"} if config.start.vocabulary == "same" else set()
    )  # as is [tokenizer], which comes from the bundle
    return {"data": data, "start": config.start.model_dump(exclude=unused)}
