"""Schema of the claims ledger: one TOML file per claim, base configurations and corpora."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, ValidationError, model_validator

from dragoman.config import Config, load_config
from dragoman.config.base import NotNegative, Settings, Size
from dragoman.config.validation_errors import error_message
from dragoman.errors import ConfigError

ReportLanguage = Literal["en", "zh"]

Pair = Annotated[list[str], Field(min_length=2, max_length=2)]


class ClaimOrigin(Settings):
    """Where a claim was made."""

    note: str
    """Number of the reading note that makes the claim."""
    paper: str = ""
    """Key of the paper in docs/papers.md."""
    figure: str = ""
    """The paper's own result, with the size of its experiment."""
    short_figure: str = ""
    """The same in a few words, for the table of verdicts; empty if the paper has no figure."""


class Variant(Settings):
    """A model of an experiment: a base configuration and its differences. Or a probe, which trains no such model."""

    base: str = ""
    """Name of a file in `bases`, without its ending."""
    probe: str = ""
    """Name of a probe, in place of a base."""
    changes: list[str] = Field(default_factory=list)
    """Differences from the base, as ``section.setting=value``."""
    corpus: str = "multi30k-en-de"
    """Name of a file in `corpora`, without its ending."""

    @model_validator(mode="after")
    def _is_model_or_probe(self) -> Self:
        if bool(self.base) == bool(self.probe):
            raise ConfigError("a variant must have either a base or a probe")
        return self


class Term(Settings):
    """One term of a contrast: a score of a variant, multiplied by a weight."""

    variant: str
    """Name of the variant."""
    weight: float = 1.0
    """Weight of its score in the effect."""
    search: str = ""
    """Search whose translations are scored; the main search by default. The condition of a probe."""
    words: list[int] = Field(default_factory=list, max_length=2)
    """Range of source words of the scored sentences, both ends included; all sentences by default."""


class Comparison(Settings):
    """A contrast of scores and the rule that decides on it.

    The effect is the weighted sum of the scores of all terms, averaged over seeds.
    """

    name: str
    """What is compared, in a few words."""
    measure: str = "bleu"
    """Score of a model; `claims.ledger.measures` defines the names."""
    terms: Annotated[list[Term], Field(min_length=1)]
    """Terms of the contrast."""
    hypothesis: float
    """Expected effect, written before the first run."""
    smallest_effect: float = 0.0
    """Smallest effect of interest. difference: the interval must be above it. equivalence: it must be within ±."""
    rule: Literal["difference", "equivalence"] = "difference"
    """Decision rule: the effect is larger than the smallest one, or its absolute value is smaller."""
    is_precondition: bool = False
    """Whether this is a precondition or a control, no part of the claim: unless it holds, the claim is not tested."""


Texts = dict[ReportLanguage, str]
"""A text in English and Chinese."""


class EarlierVerdict(Settings):
    """A verdict of an earlier round, and why the experiment or the rule was replaced."""

    date: str
    """Day of the verdict."""
    verdict: Literal["holds here", "does not hold here", "cannot be told at this size"]  # old-words: ok
    """The verdict of that day."""
    effect: Texts
    """The effect that decided, with its interval and limit."""
    why: Texts
    """Why there is another rule now."""


class NextExperiment(Settings):
    """The smallest experiment that would decide an open claim."""

    experiment: Texts
    """Task, size and rule in a few words."""
    cpu_hours: NotNegative
    """CPU hours of one core."""


class ClaimTexts(Settings):
    """Texts of a claim in one language, except the statement and the findings."""

    title: str
    """The claim in a few words."""
    decision: str = ""
    """What the decision rule adds to the general one of the ledger."""
    limits: str = ""
    """What the experiment does not show."""
    figure: str = ""
    """The paper's own result."""
    short_figure: str = ""
    """The paper's own result in a few words, for the table of verdicts."""
    comparisons: list[str]
    """Names of the comparisons, in their order."""


class Claim(Settings):
    """A statement, its origin, and the experiment that tests it."""

    id: Annotated[str, Field(pattern=r"^C\d+$")]
    """Number of the claim."""
    title: str
    """The claim in a few words."""
    statement: Texts
    """The claim as the note makes it, in English and Chinese."""
    origin: ClaimOrigin
    """Where the claim was made."""
    budget: Literal["updates", "parameters", "cpu-time"] = "updates"
    """What is equal for all variants."""
    seeds: Size = 3
    """Number of seeds of each variant."""
    alpha: Annotated[float, Field(gt=0.0, lt=1.0)] = 0.05
    """Largest probability of a wrong verdict."""
    holds_if: Literal["all", "any"] = "all"
    """Whether all comparisons must hold, or one of them."""
    decision: str = ""
    """What the decision rule adds to the general one of the ledger."""
    limits: str = ""
    """What the experiment does not show."""
    findings: Texts = Field(default_factory=dict)
    """What was not expected; written after the runs."""
    choose: Texts = Field(default_factory=dict)
    """What follows for users who build a translator; written after the verdict."""
    unfit: Texts = Field(default_factory=dict)
    """Why the experiment, as it was run, does not test the claim; the claim is then not tested."""
    earlier: list[EarlierVerdict] = Field(default_factory=list)
    """Verdicts of earlier rounds, the newest last."""
    next: NextExperiment | None = None
    """What would decide the claim if it is open or not tested."""
    column: Literal["cells", "sequence", "attention", "transformer"]
    """Column of the claim on the page of all claims."""
    searches: list[str] = Field(default_factory=list)
    """Searches that all variants are measured with, in addition to those of the terms; for figures."""
    variants: dict[str, Variant]
    """Models of the experiment."""
    labels: dict[ReportLanguage, dict[str, str]] = Field(default_factory=dict)
    """Names of the variants in figures, in English and Chinese."""
    comparisons: Annotated[list[Comparison], Field(min_length=1)]
    """Contrasts that are decided on."""
    zh: ClaimTexts | None = None
    """The texts in Chinese; those in English are used without them."""

    def texts(self, language: ReportLanguage) -> ClaimTexts:
        """Return the texts in a language, or else in English."""
        if language == "zh" and self.zh is not None:
            return self.zh
        names = [each.name for each in self.comparisons]
        return ClaimTexts(
            title=self.title,
            decision=self.decision,
            limits=self.limits,
            figure=self.origin.figure,
            short_figure=self.origin.short_figure,
            comparisons=names,
        )

    def comparison_name(self, comparison: Comparison, language: ReportLanguage) -> str:
        """Return the name of a comparison in a language."""
        return self.texts(language).comparisons[self.comparisons.index(comparison)]

    @model_validator(mode="after")
    def _terms_name_variants(self) -> Self:
        for comparison in self.comparisons:
            for term in comparison.terms:
                if term.variant not in self.variants:
                    raise ConfigError(
                        f"{self.id}: a term must name one of the variants {', '.join(self.variants)}, got "
                        f"{term.variant}; correct it in {comparison.name!r}"
                    )
        return self

    @model_validator(mode="after")
    def _has_more_than_preconditions(self) -> Self:
        if all(comparison.is_precondition for comparison in self.comparisons):
            raise ConfigError(
                f"{self.id}: a comparison must decide on the claim, got preconditions only; leave is_precondition out "
                "of one of them"
            )
        return self

    @model_validator(mode="after")
    def _every_comparison_is_translated(self) -> Self:
        if self.zh is not None and len(self.zh.comparisons) != len(self.comparisons):
            raise ConfigError(
                f"{self.id}: zh.comparisons must have {len(self.comparisons)} names, one per comparison, got "
                f"{len(self.zh.comparisons)}; correct zh.comparisons"
            )
        return self


class GoldFiles(Settings):
    """Hand-aligned sentences, in lower case with spaces between words. The text of the corpus is written like them."""

    source: str
    """File of the sources."""
    target: str
    """File of the targets."""
    links: str
    """File of the links, which count words from 1."""
    is_swapped: bool = False
    """Whether the links have the target word first."""
    max_words: Size = 25
    """Maximum number of words per side of a training pair."""


class CorpusFiles(Settings):
    """A corpus: its files below the data folder, and the SHA-256 of their content."""

    source: str
    """Source language code."""
    target: str
    """Target language code."""
    train: Pair
    """Training files."""
    validation: Pair
    """Validation files."""
    test: Pair
    """Test files."""
    more_tests: list[Pair] = Field(default_factory=list)
    """Further test files; the models are measured on all of them together."""
    sha256: dict[str, str]
    """Digest of each file."""
    join: list[Size] = Field(default_factory=list)
    """Numbers of consecutive lines that are joined to one, in rotation; none by default."""
    test_join: list[Size] = Field(default_factory=list)
    """Like `join`, for the test set; equal to it by default."""
    seed: Annotated[int, Field(ge=0)] = 0
    """Seed of the order in which lines are joined."""
    gold: GoldFiles | None = None
    """Hand-aligned sentences, on which the models are measured too."""


class PoolSettings(Settings):
    """How the models of the ledger are trained and measured."""

    minutes: dict[str, NotNegative] = Field(default_factory=dict)
    """Expected CPU minutes per model, by base."""


class _Introduction(Settings):
    """Introduction of the report in both languages."""

    en: str
    zh: str
    appendix: Texts = Field(default_factory=dict)
    """Qualifications of earlier rounds, with their dates."""


@dataclass(frozen=True)
class Ledger:
    """All claims of a folder, with their base configurations and corpora."""

    folder: Path
    claims: tuple[Claim, ...]
    corpora: dict[str, CorpusFiles]
    pool: PoolSettings
    introduction: Texts = field(default_factory=dict)
    """Introduction of the report, in English and Chinese, from `introduction.toml`."""
    appendix: Texts = field(default_factory=dict)
    """Qualifications of earlier rounds, at the end of the report."""

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read every file of the ledger; an invalid one is a `ConfigError`."""
        found = [_read(path, Claim) for path in folder.glob("C*.toml")]
        if not found:
            raise ConfigError(f"--ledger must be a folder with claims (C1.toml …), got {folder}; name the right folder")
        corpora = {path.stem: _read(path, CorpusFiles) for path in sorted((folder / "corpora").glob("*.toml"))}
        settings = folder / "pool.toml"
        pool = _read(settings, PoolSettings) if settings.is_file() else PoolSettings()
        texts = folder / "introduction.toml"
        introduction = _read(texts, _Introduction).model_dump() if texts.is_file() else {}
        appendix = introduction.pop("appendix", {})
        return cls(
            folder, tuple(sorted(found, key=lambda claim: int(claim.id[1:]))), corpora, pool, introduction, appendix
        )

    def claim(self, name: str) -> Claim:
        """Return a claim by its number."""
        for claim in self.claims:
            if claim.id.lower() == name.lower():
                return claim
        known = ", ".join(claim.id for claim in self.claims)
        raise ConfigError(f"a claim must be one of {known}, got {name}; `python -m claims list` describes them")

    def config(self, variant: Variant, seed: int) -> Config:
        """Return the configuration of a variant, without its data."""
        path = self.folder / "bases" / f"{variant.base}.toml"
        return load_config(path, [*variant.changes, f"training.seed={seed}"])

    def corpus(self, variant: Variant) -> CorpusFiles:
        """Return the corpus of a variant."""
        if variant.corpus not in self.corpora:
            raise ConfigError(f"corpus must be one of {', '.join(self.corpora)}, got {variant.corpus}; add its file")
        return self.corpora[variant.corpus]


def _read(path: Path, schema: type[Any]) -> Any:
    try:
        return schema.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except ValidationError as error:
        fault = error.errors()[0]
        name = ".".join(str(part) for part in fault["loc"])
        raise ConfigError(f"{path}: {error_message(fault, name)}") from None
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path} must be valid TOML, got: {error}; correct it there") from None
