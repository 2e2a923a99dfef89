"""The settings of corpora: which files, how they are cleaned, how pairs are drawn from them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from dragoman.config.closed import Closed, NotNegative, Share, Size
from dragoman.errors import ConfigError

__all__ = ["CleaningConfig", "CorpusConfig", "DataConfig", "FileFormat", "OnBadLine", "SamplingConfig"]

FileFormat = Literal["auto", "lines", "tsv", "tmx", "jsonl", "parquet"]
OnBadLine = Literal["error", "skip", "replace"]
Duplicates = Literal["pair", "source", "target"]


def _language(code: str) -> str:
    """Check a language code: what the part before the first hyphen looks like, not whether it exists."""
    primary = code.split("-", 1)[0]
    if not (primary.isascii() and primary.isalpha() and primary.islower() and len(primary) in (2, 3)):
        raise ConfigError(
            f"a language must be a code of two or three small letters, got {code!r}; for instance en or de"
        )
    return code


Language = Annotated[str, AfterValidator(_language)]


class CorpusConfig(Closed):
    """Files that belong together."""

    files: Annotated[list[str], Field(min_length=1)]
    """Paths, globs, URLs, or - for standard input. A lines corpus names its source side first, then its target side."""
    name: str = ""
    """What reports call it; its first file if not given."""
    format: FileFormat = "auto"
    """lines: one file a side. The other formats hold both sides in one file. auto goes by the names of the files."""
    columns: list[str] = Field(default_factory=list, max_length=2)
    """The source and the target column of TSV (counted from 1) or Parquet; else 1 and 2, or the language codes."""
    weight: Annotated[float, Field(ge=1e-6, le=1e6)] = 1.0
    """How often its pairs are drawn in training, relative to their number."""


class CleaningConfig(Closed):
    """What is mended, and which pairs are dropped. Every mend and drop is counted, with examples."""

    repair_mojibake: bool = True
    """Text decoded with the wrong table is put right ("schÃ¶n", C1 controls) where that is certain."""
    repair_entities: bool = True
    """``&amp;`` and its like become the characters they stand for."""
    min_words: Size = 1
    """The least words of a side. In scripts without spaces a character is a word."""
    max_words: Size = 250
    """The most words of a side."""
    max_characters: Size = 2000
    """The most characters of a side."""
    max_word_characters: Size = 100
    """The longest word, in scripts with spaces; 1 MB of base64 is no word."""
    max_ratio: Annotated[float, Field(ge=1.0)] = 3.0
    """How many times longer one side may be, in characters weighted by how much a character says in its script."""
    min_letters: Share = 0.3
    """The least share of letters among the characters of a side, spaces and numbers not counted; 0 switches it off."""
    min_script: Share = 0.3
    """The least share of the language's own script among the letters of a side; 0 switches it off.

    Words that stand on the other side too, such as names, do not count against it.
    """
    identical: bool = True
    """Drop pairs whose sides are the same, but for case, digits and punctuation."""
    max_similarity: Share = 0.9
    """Drop pairs whose sides are more alike than this, by edits; 1 switches it off."""
    max_repeats: Annotated[int, Field(ge=0)] = 8
    """Drop a side in which a run of words or characters follows itself more often than this; 0 switches it off."""
    numbers: bool = True
    """Drop pairs with two numbers or more, or a long one that is no year, on each side, and none in common."""
    urls: bool = True
    """Drop pairs whose web or mail addresses differ."""
    markup: bool = True
    """Drop pairs whose HTML tags differ."""
    control_characters: bool = False
    """Drop, rather than mend, pairs with control characters."""
    language: bool = False
    """Drop pairs whose sides are recognisably in another language. Takes most of the time of cleaning."""
    language_certainty: Share = 0.7
    """How sure the recognition must be before a pair is dropped for it."""
    duplicates: list[Duplicates] = Field(default_factory=lambda: list[Duplicates](["pair"]))
    """Keep only the first pair with the same text on both sides, or the same source, or the same target."""
    near_duplicates: bool = False
    """Keep only the first of pairs that are nearly the same (MinHash over both sides)."""
    near_duplicate_similarity: Annotated[float, Field(ge=0.5, lt=1.0)] = 0.8
    """The share of common character sequences from which on two pairs are nearly the same."""
    leakage: Literal["side", "pair", "keep"] = "side"
    """Drop training pairs of which one side, or both, is in the validation or test set; or keep them."""


class SamplingConfig(Closed):
    """How training draws from the prepared pairs."""

    temperature: Annotated[float, Field(ge=1.0)] = 1.0
    """1 draws from each corpus by its size; larger values draw more from small ones, nearer to equally."""
    window: Annotated[int, Field(ge=256)] = 65_536
    """Pairs that are sorted by length together. More pad less; the order of batches is random all the same."""
    subword_temperature: NotNegative = 0.0
    """Subword regularisation: other segmentations of the same words at each visit; 0 takes the best one."""


class DataConfig(Closed):
    """From raw files to batches."""

    source: Language
    """The language translated from, as a code: en, de, zh."""
    target: Language
    """The language translated into."""
    train: Annotated[list[CorpusConfig], Field(min_length=1)]
    """What is learnt from. Paths are relative to the configuration file."""
    validation: CorpusConfig | None = None
    """What training is judged by while it runs."""
    test: list[CorpusConfig] = Field(default_factory=list)
    """What is looked at only at the end."""
    validation_pairs: Annotated[int, Field(ge=0)] = 1000
    """Where no validation set is given: so many pairs are taken from the training corpora for it."""
    test_pairs: Annotated[int, Field(ge=0)] = 0
    """So many pairs are taken from the training corpora for testing."""
    folder: str = "prepared"
    """Where `dragoman prepare` writes."""
    seed: Annotated[int, Field(ge=0)] = 1
    """Everything random about the preparation is a function of it."""
    on_bad_line: OnBadLine = "error"
    """A line that is not valid text: stop, leave it out, or replace the bytes that are wrong by U+FFFD."""
    max_line_bytes: Size = 100_000
    """A longer line is a bad line."""
    max_pieces: Size = 256
    """Pairs with more pieces on a side are left out of training, and counted."""
    shard_pairs: Size = 500_000
    """About how many pairs a file of the prepared data holds."""
    cleaning: CleaningConfig = CleaningConfig()
    """What is mended, and which pairs are dropped."""
    sampling: SamplingConfig = SamplingConfig()
    """How training draws from the prepared pairs."""
