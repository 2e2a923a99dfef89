"""Open the file system of a URL, if its protocol is in the list of those that only read files.

A configuration may come from another author. Some protocols of fsspec run code that a file contains (``reference``) or
commands (``git``), write files (``filecache``) or open sockets. So only the listed ones are accepted, and those of the
network only if the user allows it.
"""

import re
from typing import Any

import fsspec

from dragoman.errors import DataError, MissingExtraError
from dragoman.network_access import check_online, is_network_allowed

_LOCAL = frozenset({"file", "local", "memory", "tar", "zip"})
_NETWORK = frozenset(
    {"abfs", "abfss", "az", "ftp", "gcs", "gs", "hf", "http", "https", "oci", "oss", "r2", "s3", "s3a", "sftp", "ssh"}
)
_PROTOCOL_ALONE = re.compile(r"[a-z]+")  # fsspec reads such a part of a chain as a protocol


def open_file_system(url: str) -> tuple[Any, str]:
    """Return the file system of a URL and the path in it.

    Raises:
        DataError: A protocol of the URL is not accepted, or needs the network, which is not allowed.
        MissingExtraError: The package of a protocol is not installed.
    """
    for part in url.split("::"):
        _check_protocol(url, part)
    try:
        system, path = fsspec.url_to_fs(url)
    except ImportError as error:
        raise MissingExtraError(f"{url} must have a package that reads it, got: {error}") from error
    return system, path


def _check_protocol(url: str, part: str) -> None:
    protocol, separator, _ = part.partition("://")
    if not separator and not _PROTOCOL_ALONE.fullmatch(part):
        return  # a path
    if protocol in _LOCAL:
        return
    if protocol not in _NETWORK:
        listed = ", ".join(sorted(_LOCAL - {"local", "memory"}) + sorted(_NETWORK))
        raise DataError(
            f"{url} must have one of the protocols {listed}, got {protocol!r}; copy the file and name its path"
        )
    check_online(url)
    if not is_network_allowed():
        raise DataError(
            f"{url} must be a local file unless the network is allowed, got the protocol {protocol!r}; add "
            "--allow-network (allow_network=True in Python), or copy the file"
        )
