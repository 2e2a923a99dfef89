"""Downloads: each fault of a host ends in one line, and leaves nothing where the file would be."""

from __future__ import annotations

import dataclasses
import gzip
import hashlib
import random
import shutil
import socket
import subprocess
import threading
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import zstandard

from dragoman.catalogs import http_client
from dragoman.catalogs.catalog_model import CatalogFile
from dragoman.catalogs.download import _key, download
from dragoman.catalogs.http_client import Access
from dragoman.errors import ConfigError, DataError, DragomanError
from testkit.model_server import ModelServer, sha256

HTTP = Access(allow_http=True)
DATA = random.Random(1).randbytes(300_000)


def offered(server: ModelServer, compression: str = "", data: bytes = DATA, **changes: Any) -> CatalogFile:
    """A file on the server."""
    packed = {"": data, "gz": gzip.compress(data, 1), "zst": zstandard.compress(data)}[compression]
    server.files["/a/file"] = packed
    facts: dict[str, Any] = {
        "size": len(packed),
        "sha256": sha256(packed),
        "content_size": len(data),
        "content_sha256": sha256(data),
    }
    return CatalogFile("model.bin", f"{server.url}/a/file", compression, **facts | changes)


def fails(file: CatalogFile, folder: Path, access: Access = HTTP) -> str:
    """Return the message of a download that fails, after a check of what is left."""
    with pytest.raises(DragomanError) as caught:
        download(file, folder, access=access)
    message = str(caught.value)
    assert "\n" not in message
    assert "; " in message, "it says what to do"
    assert [path.name for path in folder.iterdir() if path.name != ".partial"] == []
    return message


@pytest.mark.parametrize("compression", ["", "gz", "zst"])
def test_a_file_is_verified_decompressed_and_not_downloaded_again(
    compression: str, server: ModelServer, tmp_path: Path
):
    file = offered(server, compression)
    for _ in range(2):
        assert download(file, tmp_path, access=HTTP).read_bytes() == DATA
    assert len(server.requests) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["model.bin"]


@pytest.mark.parametrize("hashed", [True, False])
def test_a_cut_download_continues_if_a_hash_verifies_it(hashed: bool, server: ModelServer, tmp_path: Path):
    changes: dict[str, Any] = {} if hashed else {"size": 0, "sha256": "", "content_size": 0, "content_sha256": ""}
    file = offered(server, **changes)
    server.plant("/a/file", "cut", times=2)
    assert download(file, tmp_path, access=HTTP).read_bytes() == DATA
    assert (server.bytes_sent("/a/file") == len(DATA)) is hashed


def test_a_host_without_ranges_sends_the_whole_file_again(server: ModelServer, tmp_path: Path):
    file = offered(server)
    server.plant("/a/file", "cut", times=1)
    server.plant("/a", "no-range")
    assert download(file, tmp_path, access=HTTP).read_bytes() == DATA


def test_a_file_that_changed_meanwhile_is_downloaded_from_its_beginning(server: ModelServer, tmp_path: Path):
    old = offered(server, data=bytes(300_000), size=0, sha256="", content_size=0, content_sha256="")
    server.plant("/a/file", "cut-each", option=70_000)
    fails(old, tmp_path)
    server.faults.clear()
    new = offered(server, size=0, sha256="", content_size=0, content_sha256="")
    assert download(new, tmp_path, access=HTTP).read_bytes() == DATA


def test_a_damaged_part_is_downloaded_again(server: ModelServer, tmp_path: Path):
    file = offered(server)
    server.plant("/a/file", "status", option=503)
    fails(file, tmp_path)
    server.faults.clear()
    server.plant("/a/file", "cut-each", option=100_000)
    server.plant("/a/file", "wrong-hash", times=1)
    fails(file, tmp_path)
    server.faults.clear()
    assert download(file, tmp_path, access=HTTP).read_bytes() == DATA


@pytest.mark.parametrize(
    ("fault", "option", "expected"),
    [
        ("wrong-length", None, "must have at most 300,000 bytes as a download, got 300,001"),
        ("longer", None, "must have at most 300,000 bytes as a download, got 300,001"),
        ("wrong-hash", None, "must have the SHA-256"),
        ("html", None, "returned a web page instead of a file"),
        ("redirect-loop", None, "more than 5 redirects"),
        ("redirect", "file:///etc/passwd", "redirects to file://"),
        ("redirect", "ftp://127.0.0.1/a", "redirects to ftp://"),
        ("redirect", "http://[", "invalid address"),
        ("status", 429, "returned status 429"),
        ("status", 503, "returned status 503"),
        ("status", 404, "returned status 404"),
        ("status", 403, "returned status 403"),
        ("status-long", 429, "requests to wait 9,000 seconds"),
        ("endless", None, "must have at most 300,000 bytes"),
        ("cut-each", 0, "was lost"),
    ],
)
def test_faults_of_a_host(fault: str, option: object, expected: str, server: ModelServer, tmp_path: Path):
    file = offered(server)
    server.plant("/a/file", fault, option=option)
    assert expected in fails(file, tmp_path)
    server.faults.clear()
    assert download(file, tmp_path, access=HTTP).read_bytes() == DATA, "it works again after the fault"


def test_a_body_that_ends_early_without_stated_size(server: ModelServer, tmp_path: Path):
    file = offered(server, size=0, sha256="", content_size=0, content_sha256="")
    server.plant("/a/file", "cut-each", option=0)
    assert "was lost" in fails(file, tmp_path)


def test_one_byte_per_second_ends(server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(http_client, "TIMEOUT", 0.3)
    file = offered(server)
    server.plant("/a/file", "slow", option=0.05)
    assert "bytes per second" in fails(file, tmp_path)


def test_a_busy_host_is_requested_again(server: ModelServer, tmp_path: Path):
    file = offered(server)
    server.plant("/a/file", "status", times=2, option=429)
    assert download(file, tmp_path, access=HTTP).read_bytes() == DATA


@pytest.mark.parametrize("compression", ["gz", "zst"])
@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"content_size": 1000}, "expands to more than 1,000 bytes"),
        ({"content_size": 300_001}, "must expand to 300,001 bytes, got 300,000"),
        ({"content_sha256": "0" * 64}, "must have the SHA-256 0000"),
        ({"size": 1000}, "must have at most 1,000 bytes as a download"),
        ({"sha256": "0" * 64}, "as a download"),
    ],
)
def test_sizes_and_hashes_that_lie(
    compression: str, changes: dict[str, Any], expected: str, server: ModelServer, tmp_path: Path
):
    assert expected in fails(offered(server, compression, **changes), tmp_path)


@pytest.mark.parametrize("compression", ["gz", "zst"])
def test_a_bomb_is_not_expanded(compression: str, server: ModelServer, tmp_path: Path):
    file = offered(server, compression, data=bytes(200_000_000), content_size=0, content_sha256="")
    tracemalloc.start()
    assert "expands to more than" in fails(file, tmp_path)
    assert tracemalloc.get_traced_memory()[1] < 64 << 20
    tracemalloc.stop()


@pytest.mark.parametrize("compression", ["gz", "zst"])
@pytest.mark.parametrize("size", [1, (1 << 18) - 1, 1 << 18, (1 << 18) + 1, 1 << 20])
def test_output_that_is_pending_at_the_end_of_the_file(
    compression: str, size: int, server: ModelServer, tmp_path: Path
):
    file = offered(server, compression, data=bytes(size))
    assert download(file, tmp_path, access=HTTP).read_bytes() == bytes(size)


@pytest.mark.parametrize("compression", ["gz", "zst"])
@pytest.mark.parametrize("change", [lambda data: data[:-20], lambda data: data + b"x", lambda data: b"x" * 99])
def test_streams_that_are_damaged(
    compression: str, change: Callable[[bytes], bytes], server: ModelServer, tmp_path: Path
):
    file = offered(server, compression, size=0, sha256="", content_size=0, content_sha256="")
    server.files["/a/file"] = change(server.files["/a/file"])
    assert "the download is" in fails(file, tmp_path)


def test_addresses_that_are_not_opened(server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    file = offered(server)
    assert "add --allow-http" in fails(file, tmp_path, Access())
    local = CatalogFile("model.bin", "file:///etc/passwd")
    assert "only a local catalog" in fails(local, tmp_path)
    monkeypatch.setenv("DRAGOMAN_OFFLINE", "1")
    assert "DRAGOMAN_OFFLINE forbids" in fails(file, tmp_path)
    assert server.requests == []


def test_an_unencrypted_redirect_of_an_encrypted_address_is_refused():
    with pytest.raises(DataError, match="redirects to http://"):
        http_client.check_address("http://a.example/x", HTTP, before="https://a.example/x")
    http_client.check_address("https://a.example/x", Access(), before="https://b.example/x")


def test_files_of_a_local_catalog_are_verified_and_kept(tmp_path: Path):
    place = tmp_path / "mirror" / "model.bin"
    place.parent.mkdir()
    place.write_bytes(DATA)
    good = CatalogFile("model.bin", place.as_uri(), size=len(DATA), sha256=sha256(DATA))
    bad = CatalogFile("model.bin", place.as_uri(), size=len(DATA), sha256="0" * 64)
    with pytest.raises(DataError, match="must have the SHA-256 0000"):
        download(bad, tmp_path / "bad", is_local=True)
    assert download(good, tmp_path / "good", is_local=True).read_bytes() == DATA == place.read_bytes()


def test_concurrent_downloads_are_one(server: ModelServer, tmp_path: Path):
    file = offered(server, "zst", size=0, sha256="", content_sha256="")
    threads = [threading.Thread(target=download, args=(file, tmp_path, None, HTTP)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert server.bytes_sent("/a/file") == len(server.files["/a/file"])
    assert hashlib.sha256((tmp_path / "model.bin").read_bytes()).hexdigest() == sha256(DATA)


def test_the_disk_is_full(server: ModelServer, tmp_path: Path):
    file = offered(server, content_size=1 << 44)
    assert "free some space" in fails(file, tmp_path)


def test_an_unreachable_host(server: ModelServer, tmp_path: Path):
    assert "cannot be reached" in fails(CatalogFile("model.bin", "http://127.0.0.1:9/x"), tmp_path)


def test_a_wrong_proxy(server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HTTP_PROXY", "nonsense://x")
    monkeypatch.setenv("ALL_PROXY", "nonsense://x")
    with pytest.raises(ConfigError, match="proxy or certificate settings"):
        download(offered(server), tmp_path, access=HTTP)


def test_the_proxy_of_the_environment_is_used(server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HTTP_PROXY", server.url)
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    file = dataclasses.replace(offered(server), url="http://models.invalid/a/file")
    assert download(file, tmp_path, access=HTTP).read_bytes() == DATA
    monkeypatch.setenv("NO_PROXY", "models.invalid")
    (tmp_path / "other").mkdir()
    assert "cannot be reached" in fails(file, tmp_path / "other")


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A certificate of 127.0.0.1 that no authority signed, with its key."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("no openssl here to make a certificate")
    path = tmp_path / "certificate.pem"
    options = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1"]
    names = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(path), "-out", str(path)]
    subprocess.run([openssl, "req", "-x509", *options, *names], check=True, capture_output=True)
    return path


def test_certificates(server: ModelServer, certificate: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = tmp_path / "files"
    with ModelServer(certificate) as secure:
        file = offered(secure)
        folder.mkdir()
        assert "set SSL_CERT_FILE" in fails(file, folder, Access())
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        secure.plant("/a/file", "redirect", option=f"{server.url}/a/file")
        assert "redirects to http://" in fails(file, folder)
        secure.faults.clear()
        assert download(file, folder, access=Access()).read_bytes() == DATA
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "none"))
    with pytest.raises(ConfigError, match="proxy or certificate settings"):
        download(file, tmp_path / "other")


@pytest.mark.parametrize("compression", ["gz", "zst"])
def test_a_bomb_whose_size_is_stated_is_not_expanded(compression: str, server: ModelServer, tmp_path: Path):
    message = fails(offered(server, compression, data=bytes(100_000_000)), tmp_path)
    assert "must expand to at most" in message


@pytest.mark.parametrize("header", ["Retry-After: Mon, 01 Jan 2024 00:00:00 +99999999999999", "Retry-After: \xb2"])
def test_an_odd_header_is_no_traceback(header: str, server: ModelServer, tmp_path: Path):
    answer = f"HTTP/1.1 503 x\r\n{header}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode("latin-1")
    with answering(answer) as address:
        assert "returned status 503" in fails(CatalogFile("model.bin", address), tmp_path)


def test_a_range_of_any_number_begins_again(server: ModelServer, tmp_path: Path):
    part = b"HTTP/1.1 200 x\r\nContent-Length: 9\r\n\r\nabc"
    odd = f"HTTP/1.1 206 x\r\nContent-Range: bytes {'9' * 5000}-9/9\r\nContent-Length: 0\r\n\r\n".encode()
    whole = b"HTTP/1.1 200 x\r\nContent-Length: 9\r\n\r\nabcdefghi"
    with answering(part, odd, whole) as address:
        file = CatalogFile("model.bin", address, size=9, sha256=sha256(b"abcdefghi"))
        assert download(file, tmp_path, access=HTTP).read_bytes() == b"abcdefghi"


@pytest.mark.parametrize("status", [206, 304])
def test_a_part_that_was_not_requested_is_no_file(status: int, server: ModelServer, tmp_path: Path):
    with answering(f"HTTP/1.1 {status} x\r\nContent-Length: 0\r\n\r\n".encode()) as address:
        assert "which was not requested" in fails(CatalogFile("model.bin", address), tmp_path)


@pytest.mark.parametrize("host", ["xn--", "a..b", "..."])
def test_a_host_name_that_is_none(host: str, server: ModelServer, tmp_path: Path):
    assert "cannot be read" in fails(CatalogFile("model.bin", f"http://{host}/x"), tmp_path)
    server.plant("/a/file", "redirect", option=f"http://{host}/x")
    assert "cannot be read" in fails(offered(server), tmp_path)


@pytest.mark.parametrize("suffix", ["", ".content"])
def test_a_link_in_place_of_the_partial_file_is_not_followed(suffix: str, server: ModelServer, tmp_path: Path):
    file, mine = offered(server, "gz"), tmp_path / "mine"
    mine.write_bytes(b"mine")
    (tmp_path / "model" / ".partial").mkdir(parents=True)
    (tmp_path / "model" / ".partial" / f"{_key(file)}{suffix}").symlink_to(mine)
    assert "is a symbolic link, which is not followed" in fails(file, tmp_path / "model")
    assert mine.read_bytes() == b"mine"


@contextmanager
def answering(*answers: bytes) -> Iterator[str]:
    """A server that sends these bytes, one after the other; the last one again and again."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def run() -> None:
            left = list(answers)
            while True:
                with suppress(ConnectionError):
                    try:
                        connection, _ = listening.accept()
                    except OSError:  # closed
                        return
                    with connection:
                        connection.recv(1 << 16)
                        connection.sendall(left.pop(0) if len(left) > 1 else left[0])

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/x"
        listening.shutdown(socket.SHUT_RDWR)
        thread.join(10)
