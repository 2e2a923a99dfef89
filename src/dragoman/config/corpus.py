"""Settings of training corpora: files, cleaning and sampling."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from dragoman.config.base import NotNegative, Settings, Share, Size
from dragoman.errors import ConfigError
from dragoman.language_codes import parse_language

__all__ = ["CleaningConfig", "CorpusConfig", "DataConfig", "FileFormat", "OnBadLine", "SamplingConfig"]

FileFormat = Literal["auto", "lines", "tsv", "csv", "tmx", "jsonl", "parquet"]
OnBadLine = Literal["error", "skip", "replace"]
Duplicates = Literal["pair", "source", "target"]


Language = Annotated[str, AfterValidator(parse_language)]


class CorpusConfig(Settings):
    """Files of one corpus."""

    files: Annotated[list[str], Field(min_length=1)]
    """Paths, globs, URLs, or - for standard input. In the format lines: source files first, then target files."""
    name: str = ""
    """Name in reports; the first file by default."""
    format: FileFormat = "auto"
    """lines: one file per side. Files of other formats have both sides. auto selects the format by file names."""
    columns: list[str] = Field(default_factory=list, max_length=2)
    """Source and target column: numbers from 1 in TSV and CSV, names in CSV, JSONL and Parquet.

    By default those named by the language codes, or 1 and 2.
    """
    weight: Annotated[float, Field(ge=1e-6, le=1e6)] = 1.0
    """Sampling weight of its pairs in training, relative to their number."""
    share: Annotated[float, Field(gt=0.0, lt=1.0)] | None = None
    """Share of all training pairs that are drawn from this corpus, for any size of it, instead of a weight."""

    @model_validator(mode="after")
    def _has_weight_or_share(self) -> Self:
        if self.share is not None and self.weight != 1.0:
            raise ConfigError(
                f"weight must be left out where a corpus has a share, got {self.weight:g}; the share is independent of "
                "the size of the corpus"
            )
        return self


class CleaningConfig(Settings):
    """Repairs of text, and filters of pairs. Every repair and dropped pair is counted, with examples."""

    repair_mojibake: bool = True
    """Repair text decoded with the wrong encoding ("schÃ¶n", C1 controls) where the repair is certain."""
    repair_entities: bool = True
    """Replace ``&amp;`` and other entities by their characters."""
    min_words: Size = 1
    """Minimum number of words per side. In scripts without spaces a character is a word."""
    max_words: Size = 250
    """Maximum number of words per side."""
    max_characters: Size = 2000
    """Maximum number of characters per side."""
    max_word_characters: Size = 100
    """Maximum length of a word in scripts with spaces."""
    max_ratio: Annotated[float, Field(ge=1.0)] = 3.0
    """Maximum length ratio of both sides, in characters weighted by the information per character of the script."""
    min_letters: Share = 0.3
    """Minimum share of letters among the characters of a side, without spaces and numbers; 0 disables it."""
    min_script: Share = 0.3
    """Minimum share of the language's script among the letters of a side; 0 disables it.

    Words that are on both sides, such as names, do not count.
    """
    identical: bool = True
    """Drop pairs whose sides are equal, except for case, digits and punctuation."""
    max_similarity: Share = 0.9
    """Drop pairs whose sides are more similar than this, by edit distance; 1 disables it."""
    max_repeats: Annotated[int, Field(ge=0)] = 8
    """Drop a side in which a sequence of words or characters is repeated more often than this; 0 disables it."""
    numbers: bool = True
    """Drop pairs with at least two numbers, or a long one that is not a year, on each side, and none in common."""
    urls: bool = True
    """Drop pairs whose web or mail addresses differ."""
    markup: bool = True
    """Drop pairs whose HTML tags differ."""
    control_characters: bool = False
    """Drop pairs with control characters instead of repairing them."""
    language: bool = False
    """Drop pairs with a side in another language. This takes most of the time of cleaning."""
    language_certainty: Share = 0.7
    """Minimum probability of the detected language for dropping a pair."""
    duplicates: list[Duplicates] = Field(default_factory=lambda: list[Duplicates](["pair"]))
    """Keep only the first pair with the same text on both sides, the same source, or the same target."""
    near_duplicates: bool = False
    """Keep only the first of near-duplicate pairs (MinHash of both sides)."""
    near_duplicate_similarity: Annotated[float, Field(ge=0.5, lt=1.0)] = 0.8
    """Minimum share of common character n-grams of near-duplicates."""
    leakage: Literal["side", "pair", "keep"] = "side"
    """Drop training pairs with one side, or both, in the validation or test set; or keep them."""


class SamplingConfig(Settings):
    """Sampling of prepared pairs in training."""

    temperature: Annotated[float, Field(ge=1.0)] = 1.0
    """1 samples each corpus by its size; larger values sample more from small corpora."""
    window: Annotated[int, Field(ge=256)] = 65_536
    """Number of pairs sorted by length together. Larger windows need less padding; the batch order stays random."""
    subword_temperature: NotNegative = 0.0
    """Subword regularisation: sample segmentations at each visit; 0 uses the best one."""


class DataConfig(Settings):
    """Corpora and their preparation."""

    source: Language
    """Source language code: en, de, zh-Hant. Other spellings are changed to the canonical one: EN, deu, zh_Hant."""
    target: Language
    """Target language code."""
    train: list[CorpusConfig] = Field(default_factory=list)
    """Training corpora, at least one. Paths are relative to the configuration file. Imported models have none."""
    validation: CorpusConfig | None = None
    """Validation set."""
    test: list[CorpusConfig] = Field(default_factory=list)
    """Test sets, used only at the end."""
    validation_pairs: Annotated[int, Field(ge=0)] = 1000
    """Without a validation set: number of pairs taken from the training corpora for it."""
    test_pairs: Annotated[int, Field(ge=0)] = 0
    """Number of pairs taken from the training corpora for testing."""
    folder: str = "prepared"
    """Folder of the prepared data."""
    seed: Annotated[int, Field(ge=0)] = 1
    """Random seed of the preparation."""
    on_bad_line: OnBadLine = "error"
    """Lines that are not valid text: stop, skip them, or replace invalid bytes by U+FFFD."""
    max_line_bytes: Size = 100_000
    """Maximum length of a line in bytes; longer lines are bad lines."""
    max_tokens: Size = 256
    """Maximum number of tokens per side; longer pairs are not used in training, and counted."""
    shard_pairs: Size = 500_000
    """Approximate number of pairs per file of prepared data."""
    cleaning: CleaningConfig = CleaningConfig()
    """Repairs of text, and filters of pairs."""
    sampling: SamplingConfig = SamplingConfig()
    """Sampling of prepared pairs in training."""

    @model_validator(mode="after")
    def _leaves_room_beside_shares(self) -> Self:
        shares = [corpus.share for corpus in self.train if corpus.share is not None]
        if shares and (len(shares) == len(self.train) or sum(shares) >= 1):
            raise ConfigError(
                f"the shares of data.train must leave some for a corpus without a share, got {len(shares)} shares of "
                f"{sum(shares):g} in {len(self.train)} corpora; leave the share of the main corpus out"
            )
        return self
