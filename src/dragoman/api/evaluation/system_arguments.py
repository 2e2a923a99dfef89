"""Parse ``NAME=PATH`` arguments: translation systems to evaluate or compare, with the paths of their models.

A member of a system is a run folder, a project folder (its best run), a bundle (also the name of one in the model
store) or a file of translations; a system trained with several seeds has one member per seed.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from dragoman.bundle.locate import LocatedBundle, find_bundle, named_bundles
from dragoman.bundle.model_store import propose_get
from dragoman.bundle.verified_folder import MANIFEST, explain_checkpoint
from dragoman.errors import BundleError, ConfigError, DataError
from dragoman.run_files import BUNDLE, LOG, PROJECT, RECORD, RUN

_NAMELESS = (BUNDLE, RUN)  # uninformative folder names: the name of the parent folder is used
_ENDINGS = (".gz", ".txt")
_FORMS = "[NAME=]PATH[,PATH…], each a run folder, a bundle or a file of translations"


@dataclass(frozen=True)
class System:
    """The name of a system and the existing paths of its members."""

    name: str
    members: tuple[Path, ...]


def parse_system(text: str, *, tell: Callable[[str], None] = lambda _: None) -> System:
    """Parse ``[NAME=]PATH[,PATH…]``; an existing path may contain ``=`` and commas."""
    if Path(text).exists() and text:
        return System(_name_of(Path(text)), (_existing(text, tell),))
    name, equals, rest = text.partition("=")
    if not equals:
        name, rest = "", text
    paths = [rest] if rest and Path(rest).exists() else rest.split(",")
    if (equals and not name.strip()) or not all(paths):
        raise ConfigError(f"a system must be {_FORMS}, got {text!r}; write a name before = and a path between commas")
    members = tuple(_existing(path, tell) for path in paths)
    return System(name.strip() or (paths[0] if named_bundles(paths[0]) else _name_of(members[0])), members)


def parse_systems(texts: Sequence[str], *, tell: Callable[[str], None] = lambda _: None) -> tuple[System, ...]:
    """Parse several systems; equal default names get numbers, equal given names are a `ConfigError`."""
    systems = [parse_system(text, tell=tell) for text in texts]
    given = [system.name for system, text in zip(systems, texts, strict=True) if text.startswith(f"{system.name}=")]
    for name in given:
        if given.count(name) > 1:
            raise ConfigError(f"names of systems must differ, got {name} twice; members of one system are joined by ,")
    taken = set(given)
    for place, (system, text) in enumerate(zip(systems, texts, strict=True)):
        if text.startswith(f"{system.name}="):
            continue
        name, number = system.name, 1
        while name in taken:
            number += 1
            name = f"{system.name}-{number}"
        taken.add(name)
        systems[place] = replace(system, name=name)
    return tuple(systems)


def bundle_of(member: Path) -> Path | None:
    """Return the bundle of a member, or None for a file of translations."""
    if member.is_file():
        return None
    if (member / MANIFEST).is_file():
        return member
    if (member / BUNDLE / MANIFEST).is_file():
        return member / BUNDLE
    if any((member / name).is_file() for name in (RECORD, LOG, PROJECT)):
        return _located(member).path
    if explained := explain_checkpoint(member):
        raise DataError(explained)
    raise DataError(f"{member} has no model; name a run folder, a bundle or a file of translations")


def _located(path: Path) -> LocatedBundle:
    try:
        return find_bundle(path)
    except BundleError as error:  # it names the next step
        raise DataError(str(error)) from None


def run_of(member: Path) -> Path | None:
    """Return the run folder of a member, or None."""
    for folder in (member, member.parent) if member.name == BUNDLE else (member,):
        if (folder / RECORD).is_file():
            return folder
    return None


def _existing(text: str, tell: Callable[[str], None]) -> Path:
    path = Path(text)
    if named_bundles(path):
        return _located(path).path
    if not path.exists():
        raise DataError(
            f"{text} does not exist{propose_get(text)}; name a run folder, a bundle or a file of translations"
        )
    if path.is_dir() and not _is_member(path):
        return _best_run(path, tell)
    if path.is_dir() and not (path / MANIFEST).is_file():
        with suppress(BundleError):  # the curves of a run can be compared without a model
            if note := find_bundle(path).note:
                tell(f"note    {note}")
    return path


def _is_member(folder: Path) -> bool:
    names = (MANIFEST, f"{BUNDLE}/{MANIFEST}", RECORD, LOG)
    return any((folder / name).is_file() for name in names)


def _best_run(project: Path, tell: Callable[[str], None]) -> Path:
    """Return the run of the best bundle of a project folder; the folder itself if it has no bundle."""
    try:
        found = find_bundle(project)
    except BundleError:
        return project  # `bundle_of` explains it
    tell(f"bundle  {found.path}, {found.reason}")
    if found.note:
        tell(f"note    {found.note}")
    return found.run or found.path


def _name_of(path: Path) -> str:
    absolute = path.absolute()
    named = (part for part in (absolute, *absolute.parents) if part.name not in (*_NAMELESS, "", ".."))
    name = next(named, absolute).name or "system"
    if path.is_file():
        for ending in _ENDINGS:
            name = name.removesuffix(ending) or name
    return name
