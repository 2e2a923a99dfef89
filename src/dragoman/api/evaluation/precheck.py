"""Check the models, the test set and the settings of an evaluation before translation starts."""

from collections.abc import Sequence
from pathlib import Path

from dragoman.api.evaluation.system_arguments import System
from dragoman.config.evaluation import EvaluationSettings
from dragoman.errors import ConfigError, DataError
from dragoman.evaluation.results import SystemResult, useless_bleu
from dragoman.evaluation.significance import seed_setting, signed_metric
from dragoman.text.other_language import language_note, language_of_texts, swapped_note


def check_systems(
    systems: Sequence[System], sources: Sequence[str], references: Sequence[str], settings: EvaluationSettings
) -> None:
    """Reject systems and texts that cannot be evaluated with these settings."""
    if not systems:
        raise ConfigError("no system is given; name a bundle, a run or a file of translations")
    if len(sources) != len(references) or not references:
        raise DataError(
            f"sources and references must have the same number of lines, at least one, got {len(sources):,} and "
            f"{len(references):,}; name the two sides of one test set"
        )
    names = [system.name for system in systems]
    if duplicates := [name for name in names if names.count(name) > 1]:
        raise ConfigError(
            f"names of systems must differ, got {duplicates[0]} twice; join members of one system by commas"
        )
    if settings.baseline is not None and settings.baseline not in names:
        raise ConfigError(f"baseline must be one of {', '.join(names)}, got {settings.baseline}; or leave it out")
    if len(systems) > 1 or settings.resamples:
        seed_setting()


def check_language(language: str, settings: EvaluationSettings) -> None:
    """Reject metrics without a tokenizer for the target language."""
    for metric in settings.metrics:
        signed_metric(metric, language)


def copied_side_note(path: Path, lines: Sequence[str], sources: Sequence[str], references: Sequence[str]) -> str:
    """Return a note if a file of translations is a copy of the references or of the sources, else nothing."""
    for name, side in (("references", references), ("sources", sources)):
        if list(lines) == list(side):
            return f"{path} has the same lines as the {name}, so its scores mean nothing; name a file of translations"
    return ""


def language_notes(
    sources: Sequence[str], references: Sequence[str], languages: tuple[str, str], *, translates: bool, are_given: bool
) -> list[str]:
    """Return a note if the test set is swapped, else one for each side in another language than it should be.

    The language of the sources matters only if a model `translates` them. A swapped test set is rejected instead if the
    languages are those of the model, not given by the user.
    """
    source, target = languages
    fix = "exchange the two files" + ("" if are_given else ", or name the languages to score them anyway")
    if swapped := swapped_note(sources, references, source, target, fix=fix):
        if not are_given:
            raise DataError(swapped)
        return [swapped]
    notes = [
        language_note(sources, source) if translates else "",
        language_note(references, target, name="references", rule=f"the target language is {target}"),
    ]
    return [note for note in notes if note]


def output_language_note(name: str, lines: Sequence[str], references: Sequence[str], target: str) -> str:
    """Return a note if translations are in another language than the target language, or than the references."""
    rule = f"the target language is {target}"
    if not target:
        target = language_of_texts(references)
        rule = f"the references look like {target}"
    return language_note(lines, target, name=f"translations of {name}", rule=rule)


def useless_scores_note(systems: Sequence[SystemResult], target: str) -> str:
    """Return a note if no system has the BLEU of one that translates."""
    best = useless_bleu(systems, target)
    if best is None:
        return ""
    has_model = any(member.parameters for system in systems for member in system.members)
    fix = "train longer, or with more text" if has_model else "check that the lines are translations of this test set"
    return f"no system translates usefully, since the best BLEU is {best:.2f}; {fix}"
