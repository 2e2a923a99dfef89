"""Read models of the Hugging Face hub through `huggingface_hub`: its endpoint, cache, tokens and offline switches."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

from dragoman.catalogs.catalog_model import CatalogFile, CatalogModel, ascii_line
from dragoman.catalogs.http_client import Access, check_address
from dragoman.environment import require
from dragoman.errors import ConfigError, DataError
from dragoman.files import sha256_of_file
from dragoman.language_codes import canonical_language
from dragoman.network_access import is_offline

if TYPE_CHECKING:
    from huggingface_hub import HfApi

KINDS = ("opus-mt", "opus-mt-tc-big")
AUTHOR = "Helsinki-NLP"
_ENDPOINT = "https://huggingface.co"
_CODE = r"[a-z]{2,3}(?:_[A-Z][a-z]{3})?"
_OPUS = re.compile(rf"Helsinki-NLP/(opus-mt|opus-mt-tc-big)-({_CODE})-({_CODE})")
_HPLT = re.compile(rf"HPLT/(translate)-({_CODE})-({_CODE})-v[0-9].*")
_REPOSITORY = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}/[A-Za-z0-9][A-Za-z0-9._-]{0,95}")
_FILE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+@=-]*\.(?:json|txt|model|spm|yml|yaml|npz|vocab|bin|safetensors)")
_LEFT_OUT = re.compile(r"training_args\.bin|optimizer\.|scheduler\.|README")


def is_repository(name: str) -> bool:
    """Whether a name is that of a model on the hub: ``Helsinki-NLP/opus-mt-en-de``."""
    return _REPOSITORY.fullmatch(name) is not None and ".." not in name


def list_names(access: Access) -> list[str]:
    """Return the names of all OPUS-MT models of the hub."""
    if _hub().constants.HF_HUB_OFFLINE:
        raise ConfigError("the list of the Hugging Face hub needs the network, which HF_HUB_OFFLINE forbids; unset it")
    with _errors(AUTHOR):
        return [model.id for model in _api(access).list_models(author=AUTHOR, search="opus-mt-")]


def models_of_names(data: bytes, origin: str) -> list[CatalogModel]:
    """Return models without files for a JSON list of names; names without a pair of languages are left out."""
    try:
        names = json.loads(data)
    except ValueError:
        names = []
    found = []
    for name in names if isinstance(names, list) else []:
        if isinstance(name, str) and (parts := _OPUS.fullmatch(name)):
            kind, source, target = parts.groups()
            languages = canonical_language(source), canonical_language(target)
            found.append(CatalogModel(kind, *languages, "", (), origin=origin, repository=name))
    return found


def read_model(repository: str, access: Access, revision: str = "main") -> CatalogModel:
    """Read the files of one model: their sizes, their hashes, and the revision."""
    if not is_repository(repository):
        raise ConfigError(
            f"a model of the hub must be named like Helsinki-NLP/opus-mt-en-de, got {ascii(repository)[:100]}"
        )
    if _is_offline(access):
        info = _cached_info(repository, revision)
    else:
        with _errors(repository):
            info = _api(access).model_info(repository, revision=revision, files_metadata=True)
    files = _chosen({sibling.rfilename: sibling for sibling in info.siblings or []})
    if not files:
        raise DataError(f"{repository} has no file of a model that can be imported; choose another model")
    licence = getattr(info.card_data, "license", None)
    parts = _OPUS.fullmatch(repository) or _HPLT.fullmatch(repository)
    kind, source, target = parts.groups() if parts else (repository, "mul", "mul")
    return CatalogModel(
        repository if kind == "translate" else kind,
        canonical_language(source),
        canonical_language(target),
        str(info.sha or revision),
        tuple(_file(repository, str(info.sha or revision), sibling) for sibling in files),
        licence=ascii_line(licence) if isinstance(licence, str) else "",
        origin=f"{endpoint()}/{repository}",
        repository=repository,
    )


def download_files(model: CatalogModel, folder: Path, access: Access) -> Path:
    """Download files to the cache of the hub, verify them, and link them into a folder. The hub draws the progress."""
    is_cached = _is_offline(access)
    huggingface_hub = _hub()
    if not is_cached:
        check_address(endpoint(), access)
    for file in model.files:
        with _errors(model.repository):
            path = huggingface_hub.hf_hub_download(
                model.repository, file.name, revision=model.version, endpoint=endpoint(), local_files_only=is_cached
            )
        _link(Path(path).resolve(), folder / file.name, file)
    return folder


def endpoint() -> str:
    """The address of the hub."""
    return (os.environ.get("HF_ENDPOINT") or _ENDPOINT).rstrip("/")


def _hub() -> ModuleType:
    require("huggingface_hub", "hub", "a model of the Hugging Face hub")
    import huggingface_hub.constants  # noqa: PLC0415 -- an extra
    import huggingface_hub.errors  # noqa: PLC0415

    return huggingface_hub


def _api(access: Access) -> HfApi:
    check_address(endpoint(), access)
    api: HfApi = _hub().HfApi(endpoint=endpoint(), library_name="dragoman")
    return api


def _is_offline(access: Access) -> bool:
    return access.offline or is_offline() or bool(_hub().constants.HF_HUB_OFFLINE)


def _cached_info(repository: str, revision: str) -> Any:
    """Describe a model in the cache of the hub, whose large files are named by their SHA-256."""
    folder = Path(_hub().constants.HF_HUB_CACHE) / f"models--{repository.replace('/', '--')}"
    reference, snapshots = folder / "refs" / revision, folder / "snapshots"
    if reference.is_file():
        found = [snapshots / reference.read_text(encoding="ascii", errors="replace").strip()[:100]]
    else:
        found = sorted(snapshots.iterdir(), key=lambda path: path.stat().st_mtime) if snapshots.is_dir() else []
    if not found or not found[-1].is_dir():
        raise ConfigError(
            f"{repository} is not in the cache of the Hugging Face hub, and the network is forbidden; get it once with "
            "a network"
        )
    siblings = []
    for path in sorted(found[-1].iterdir()):
        blob = path.resolve().name
        lfs = SimpleNamespace(sha256=blob) if re.fullmatch("[0-9a-f]{64}", blob) else None
        siblings.append(SimpleNamespace(rfilename=path.name, size=path.stat().st_size, lfs=lfs))
    return SimpleNamespace(siblings=siblings, sha=found[-1].name, card_data=None)


@contextmanager
def _errors(name: str) -> Iterator[None]:
    """Turn the errors of the hub into one line."""
    errors = _hub().errors
    import httpx  # noqa: PLC0415 -- an extra

    try:
        yield
    except errors.GatedRepoError:
        raise DataError(
            f"{name} needs the consent to its conditions; give it on the hub, and run hf auth login"
        ) from None
    except errors.LocalEntryNotFoundError:
        raise DataError(f"{name} cannot be read from {endpoint()}; check the network and its proxy settings") from None
    except (errors.RepositoryNotFoundError, errors.RevisionNotFoundError, errors.EntryNotFoundError):
        raise DataError(f"{name} is not on {endpoint()}, or not public; check the name, or run hf auth login") from None
    except errors.OfflineModeIsEnabled:
        raise ConfigError(f"{name} needs the network, which HF_HUB_OFFLINE forbids; unset it") from None
    except (errors.HfHubHTTPError, httpx.HTTPError, OSError, ValueError) as error:
        reason = ascii_line(str(error).partition("For more information")[0]) or type(error).__name__
        raise DataError(f"{name} cannot be read from {endpoint()}: {reason}; run the command again later") from None


def _chosen(files: dict[str, Any]) -> list[Any]:
    """Return the files to download: one kind of weights, none for other frameworks."""
    names = [name for name in files if _FILE.fullmatch(name) and not _LEFT_OUT.match(name)]
    if any(name.startswith("model") and "safetensors" in name for name in names):
        names = [name for name in names if not name.startswith("pytorch_model")]
    is_model = any(PurePosixPath(name).suffix in (".safetensors", ".bin", ".npz") for name in names)
    return [files[name] for name in sorted(names)] if is_model else []


def _file(repository: str, revision: str, sibling: Any) -> CatalogFile:
    digest = sibling.lfs.sha256 if sibling.lfs else ""
    url = f"{endpoint()}/{repository}/resolve/{revision}/{sibling.rfilename}"
    return CatalogFile(sibling.rfilename, url, size=int(sibling.size or 0), sha256=str(digest or ""))


def _link(cached: Path, target: Path, file: CatalogFile) -> None:
    """Verify a file of the hub's cache, and link or copy it."""
    size, digest = cached.stat().st_size, sha256_of_file(cached)
    if (file.size and size != file.size) or (file.sha256 and digest != file.sha256):
        raise DataError(
            f"{cached} must have {file.size:,} bytes and the SHA-256 {file.sha256 or 'that it was published with'}, "
            f"got {size:,} and {digest}; move it away and run the command again"
        )
    target.unlink(missing_ok=True)
    with suppress(OSError):
        target.hardlink_to(cached)
        return
    shutil.copyfile(cached, target)
