"""A URL in a configuration of another author runs no code, and opens no connection unless the user allows it."""

from __future__ import annotations

import json
import socket
import threading
from contextlib import suppress
from pathlib import Path

import fsspec
import pytest

from dragoman.config.corpus import CorpusConfig
from dragoman.data.readers.corpus_reader import open_corpus
from dragoman.data.readers.streams import open_file_system, open_stream, stored_size
from dragoman.errors import DataError
from dragoman.network_access import network_access

# fsspec renders templates with Jinja2, which reaches Python's modules.
CODE = "{{{{ cycler.__init__.__globals__.os.mkdir('{made}') }}}}"


def reference_file(folder: Path) -> tuple[str, Path]:
    """A file for fsspec's `reference` whose template makes a folder, and that folder."""
    made = folder / "made"
    template = {"version": 1, "templates": {"t": CODE.format(made=made)}, "refs": {"train.tsv": ["{{t}}"]}}
    (folder / "hostile.json").write_text(json.dumps(template), encoding="utf-8")
    return f"reference://train.tsv::file://{folder}/hostile.json", made


@pytest.mark.parametrize("prefix", ["", "simplecache::", "zip://a.tsv::"])
def test_a_reference_file_is_never_opened(prefix: str, tmp_path: Path):
    url, made = reference_file(tmp_path)
    for read in (open_stream, stored_size, open_file_system):
        with network_access(True), pytest.raises(DataError, match="must have one of the protocols"):
            read(prefix + url)
    with pytest.raises(DataError, match="must have one of the protocols"):
        open_corpus(CorpusConfig(files=[url.replace("train", "*")]), source="en", target="de", folder=tmp_path)
    assert not made.exists()


def test_protocols_that_are_not_listed_are_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(fsspec, "url_to_fs", lambda url: (None, url))
    accepted = set()
    with network_access(True):
        for protocol in filter(str.isalpha, fsspec.available_protocols()):  # in a chain, others are paths
            for url in (f"{protocol}://a", f"{protocol}::file:///a", f"zip://a::{protocol}"):
                with suppress(DataError):
                    open_file_system(url)
                    accepted.add(protocol)
    assert accepted <= {
        *("file", "local", "memory", "tar", "zip", "ftp", "sftp", "ssh", "http", "https", "hf"),
        *("s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "oss", "oci", "r2"),
    }


def test_the_network_is_used_only_where_it_is_allowed():
    opened = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            opened.set()
            connection.close()

        threading.Thread(target=serve, daemon=True).start()
        url = f"ftp://127.0.0.1:{server.getsockname()[1]}/train.tsv"
        for read in (open_stream, stored_size):
            with pytest.raises(DataError, match="add --allow-network"):
                read(url)
        assert not opened.wait(0.2)
        with network_access(True), pytest.raises(DataError):
            open_stream(url)
        assert opened.wait(10)
