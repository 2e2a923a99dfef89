"""Settings of training corpora: files, cleaning and sampling."""

from __future__ import annotations

import functools
from collections import Counter
from itertools import combinations, permutations
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, Field, model_validator

from dragoman.config.base import NotNegative, PartName, Settings, Share, Size
from dragoman.errors import ConfigError
from dragoman.language_codes import parse_language

_MAX_LANGUAGES = 500  # 249,500 directions take 20 MB
_MAX_TOKEN = 60  # characters of the name of a language token

FileFormat = Literal["auto", "lines", "tsv", "csv", "tmx", "jsonl", "parquet"]
OnBadLine = Literal["error", "skip"]
Duplicates = Literal["pair", "source", "target"]


Language = Annotated[str, AfterValidator(parse_language)]
LanguageTokens = Literal["source", "target", "both"]

Direction = tuple[str, str]
"""Source and target language."""


class CorpusConfig(Settings):
    """Files of one corpus."""

    files: Annotated[list[str], Field(min_length=1)]
    """Paths, globs, URLs, or - for standard input. In the format lines: source files first, then target files."""
    name: str = ""
    """Name in reports; the first file by default."""
    format: Annotated[str, PartName("corpus_readers", get_args(FileFormat))] = "auto"
    """lines: one file per side. Files of other formats have both sides. auto selects the format by file names."""
    columns: list[str] = Field(default_factory=list, max_length=2)
    """Source and target column: numbers from 1 in TSV and CSV, names in CSV, JSONL and Parquet.

    By default those named by the language codes, or 1 and 2.
    """
    languages: Annotated[list[Language], Field(min_length=2, max_length=20)] | None = None
    """Languages of the sides; `data.source` and `data.target` by default.

    With more than two: one file per language, in the format lines. Each pair of languages is then a corpus.
    """
    both_directions: bool | None = None
    """Train both directions with the same pairs; the default for more than two languages. Otherwise only the first."""
    validation: Annotated[list[str], Field(min_length=1)] | None = None
    """Files of a validation set of this corpus, in the same format and order."""
    weight: Annotated[float, Field(ge=1e-6, le=1e6)] = 1.0
    """Sampling weight of its pairs in training, relative to their number."""
    share: Annotated[float, Field(gt=0.0, lt=1.0)] | None = None
    """Share of all training pairs that are drawn from this corpus, for any size of it, instead of a weight."""

    def _check(self) -> None:
        languages = self.languages or []
        if len(set(languages)) < len(languages):
            raise ConfigError(f"languages must differ, got {', '.join(languages)}; name each once")
        if len(languages) > 2:
            for files in (self.files, *([self.validation] if self.validation else [])):
                if self.format not in ("auto", "lines") or len(files) != len(languages):
                    raise ConfigError(
                        f"a corpus of {len(languages)} languages must have one text file per language, got "
                        f"{len(files)} files of the format {self.format}; name them in the order of the languages"
                    )
        if self.share is not None and self.weight != 1.0:
            raise ConfigError(
                f"weight must be left out where a corpus has a share, got {self.weight:g}; the share is independent of "
                "the size of the corpus"
            )

    @property
    def trains_both_directions(self) -> bool:
        """Whether each pair of languages is trained in both directions."""
        is_default = len(self.languages or ()) > 2
        return is_default if self.both_directions is None else self.both_directions

    def pairs_of_languages(self) -> list[CorpusConfig]:
        """Return a corpus for each pair of its languages; the corpus itself if it has two."""
        if self.languages is None or len(self.languages) == 2:
            return [self]
        pairs = list(combinations(range(len(self.languages)), 2))
        found = []
        for one, other in pairs:
            sides = (self.languages[one], self.languages[other])
            changes = {
                "name": f"{self.name or self.files[0]} {'-'.join(sides)}",
                "languages": list(sides),
                "files": [self.files[one], self.files[other]],
                "validation": [self.validation[one], self.validation[other]] if self.validation else None,
                "both_directions": self.trains_both_directions,
                "share": None if self.share is None else self.share / len(pairs),
            }
            found.append(self.model_copy(update=changes))
        return found


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


class AugmentConfig(Settings):
    """Changed pairs in training: shares of the draws, at most one change each, another one at every draw."""

    upper: Share = 0.07
    """Both sides in capitals."""
    title: Share = 0.05
    """Both sides with a capital at the beginning of each word."""
    lower: Share = 0.03
    """The source in lower case."""
    typos: Share = 0.05
    """The source with a typo in one word of five: letters swapped, dropped, doubled, or of a neighbouring key."""
    punctuation: Share = 0.1
    """Both sides without the full stop, or the source with two marks at the end."""
    joined: Share = 0.05
    """The pair joined with the one to four pairs that follow it in the corpus."""
    words: Share = 0.03
    """One to three successive words of the pair with their translations instead of it, if the links of words are
    clear."""
    tags: Share = 0.005
    """A tag around one to three successive words and their translations, or a placeholder instead of both."""
    terms: Share = 0.0
    """One to three successive words of the source with their translation after them as a hint: ``boat ⦅ Boot ⦆``."""
    copies: Share = 0.005
    """A number, date, code, address or emoji instead of the pair, the same on both sides."""

    @property
    def vocabulary_kinds(self) -> list[str]:
        """The changes that need tokens of their own: words in capitals, and the marks of hints."""
        return [kind for kind in ("upper", "title", "terms") if getattr(self, kind)]

    def _check(self) -> None:
        if (total := round(sum(self.model_dump().values()), 9)) > 0.9:
            raise ConfigError(f"the shares of data.augment must add up to at most 0.9, got {total:g}; lower some")


class DataConfig(Settings):
    """Corpora and their preparation."""

    source: Language
    """Source language code: en, de, zh-Hant. Other spellings are changed to the canonical one: EN, deu, zh_Hant.

    May be left out, with the target, if the first training corpus has `languages`.
    """
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
    """Lines that are not valid text: stop, or skip them."""
    max_line_bytes: Size = 100_000
    """Maximum length of a line in bytes; longer lines are bad lines."""
    max_tokens: Size = 256
    """Maximum number of tokens per side; longer pairs are not used in training, and counted."""
    shard_pairs: Size = 500_000
    """Approximate number of pairs per file of prepared data."""
    cleaning: CleaningConfig = Field(default_factory=CleaningConfig)
    """Repairs of text, and filters of pairs."""
    sampling: SamplingConfig = Field(default_factory=SamplingConfig)
    """Sampling of prepared pairs in training."""
    augment: AugmentConfig | None = None
    """Changed pairs in training; none unless the table is there, with usual shares if it is empty."""
    directions: list[str] | None = None
    """Directions of the model, such as "en:de"; those of the training corpora by default."""
    languages: Annotated[list[Language], Field(min_length=2, max_length=_MAX_LANGUAGES)] | None = None
    """Languages of a model that translates between any two of them, instead of `directions`."""
    language_tokens: LanguageTokens | None = None
    """Several directions: the token that names the target language begins the source (default) or the target.

    both: the source begins with the token of its own language, the target with that of the target language. If it is
    set, sentences of a model with one direction begin with a token, too.
    """
    language_token_names: list[str] | None = None
    """Names of language tokens in the vocabulary of an imported model, such as "de:deu_Latn"; "<2de>" by default."""

    def languages_of(self, corpus: CorpusConfig) -> Direction:
        """Return the languages of the sides of a corpus of two languages."""
        source, target = corpus.languages or (self.source, self.target)
        return source, target

    def directions_of(self, corpus: CorpusConfig) -> list[Direction]:
        """Return the directions that a corpus trains."""
        languages = corpus.languages or [self.source, self.target]
        pairs = combinations(languages, 2)
        if not corpus.trains_both_directions:
            return list(pairs)
        return [each for source, target in pairs for each in ((source, target), (target, source))]

    def train_pairs(self) -> list[CorpusConfig]:
        """Return the training corpora with two languages each."""
        return [each for corpus in self.train for each in corpus.pairs_of_languages()]

    def validation_sets(self) -> list[CorpusConfig]:
        """Return the validation set, and those of training corpora."""
        own = [
            each.model_copy(update={"files": each.validation, "name": "", "validation": None})
            for each in self.train_pairs()
            if each.validation
        ]
        return [*(self.validation.pairs_of_languages() if self.validation else []), *own]

    def test_sets(self) -> list[CorpusConfig]:
        """Return the test sets, with two languages each."""
        return [each for corpus in self.test for each in corpus.pairs_of_languages()]

    def all_directions(self) -> list[Direction]:
        """Return the directions of the model, each once."""
        if self.languages:
            return list(_directions_between(tuple(self.languages)))
        if self.directions:
            return list(_parse_directions(tuple(self.directions)))
        found = [each for corpus in self.train for each in self.directions_of(corpus)]
        return list(dict.fromkeys(found)) or [(self.source, self.target)]

    @model_validator(mode="before")
    @classmethod
    def _has_the_languages_of_its_first_corpus(cls, given: Any) -> Any:
        if not isinstance(given, dict) or "source" in given or "target" in given:
            return given
        first = next(iter(given.get("train") or ()), None)
        languages = first.get("languages") if isinstance(first, dict) else getattr(first, "languages", None)
        if not isinstance(languages, list) or len(languages) < 2:
            return given
        return {"source": languages[0], "target": languages[1], **given}

    @property
    def is_multilingual(self) -> bool:
        """Whether sentences begin with language tokens: of several directions, or because the tokens are set."""
        if self.language_tokens is not None or self.languages:
            return True
        return len(self.directions or self.all_directions()) > 1

    @property
    def token_names(self) -> dict[str, str]:
        """Names of language tokens that are set, by language."""
        return dict(_parse_token_name(each) for each in self.language_token_names or [])

    def _check(self) -> None:
        languages = self.languages or []
        if languages and self.directions:
            raise ConfigError(
                f"data.languages must be left out where data.directions is set, got {len(languages)} languages and "
                f"{len(self.directions)} directions; keep one of both"
            )
        if len(set(languages)) < len(languages):
            raise ConfigError(f"data.languages must differ, got {', '.join(languages)[:200]}; name each once")
        _parse_directions(tuple(self.directions or ()))
        for column in zip(*map(_parse_token_name, self.language_token_names or []), strict=True):
            repeated = [name for name, count in Counter(column).items() if count > 1]
            if repeated:
                raise ConfigError(
                    f"data.language_token_names must name each language and token once, got {repeated[0]!a} "
                    "twice; keep one of both"
                )
        shares = [corpus.share for corpus in self.train if corpus.share is not None]
        if shares and (len(shares) == len(self.train) or sum(shares) >= 1):
            raise ConfigError(
                f"the shares of data.train must leave some for a corpus without a share, got {len(shares)} shares of "
                f"{sum(shares):g} in {len(self.train)} corpora; leave the share of the main corpus out"
            )


def parse_direction(text: str) -> Direction:
    """Return the languages of a direction such as "en:de"."""
    source, colon, target = text.partition(":")
    if not colon:
        raise ConfigError(f'a direction must be two languages with a colon, got {text[:80]!r}; write "en:de"')
    return parse_language(source), parse_language(target)


@functools.lru_cache(maxsize=8)
def _directions_between(languages: tuple[str, ...]) -> tuple[Direction, ...]:
    return tuple(permutations(languages, 2))


@functools.lru_cache(maxsize=8)
def _parse_directions(texts: tuple[str, ...]) -> tuple[Direction, ...]:
    return tuple(dict.fromkeys(map(parse_direction, texts)))


def _parse_token_name(text: str) -> tuple[str, str]:
    language, colon, token = text.partition(":")
    if not colon or not 0 < len(token) <= _MAX_TOKEN or any(each.isspace() for each in token):
        raise ConfigError(
            f"a language token must have a language and a name of up to {_MAX_TOKEN} characters, got {text[:80]!r}; "
            'write "de:deu_Latn"'
        )
    return parse_language(language), token
