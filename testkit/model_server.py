"""A local server of all four protocols of model catalogs, with faults planted by name.

/db/models.json and gz files          registry of Firefox Translations
/v1/buckets/…/records, /cdn/… (zst)   records of Remote Settings
/index.json, /argos/…                 index of Argos packages
/api/models…, /<id>/resolve/…         Hugging Face hub
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import ssl
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self
from urllib.parse import parse_qs, unquote, urlsplit

import zstandard

RECORDS = "/v1/buckets/main/collections/translations-models-v2/records"
TYPES = {"model": "model", "lex": "lexicalShortlist", "vocab": "vocab", "srcvocab": "srcVocab", "trgvocab": "trgVocab"}
PAGE = b"<!DOCTYPE html><html><body>Please log in.</body></html>"
FAULTS = (
    "cut",  # half of the body, then the connection ends
    "cut-each",  # at most `option` bytes of the body per request
    "no-range",  # the whole body although a part was requested
    "wrong-length",  # a Content-Length that is too large by one
    "longer",  # one byte more than the catalog states
    "wrong-hash",  # one byte is changed
    "html",  # 200 with a page
    "redirect-loop",
    "redirect",  # to the address in `option`
    "status",  # the one in `option`, with Retry-After: 0
    "status-long",  # the one in `option`, with Retry-After: 9000
    "slow",  # one byte per `option` seconds
    "paced",  # 64 KiB per `option` seconds
    "endless",  # zeros without end
)


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@dataclass
class Fault:
    name: str
    times: int
    """How many requests have the fault; -1 for all."""
    option: Any = None


class ModelServer:
    """A server on 127.0.0.1. Add models, plant faults, and read what was requested and sent."""

    def __init__(self, certificate: Path | None = None) -> None:
        """Start; `certificate` is a file with a certificate and its key, for https."""
        self.files: dict[str, bytes] = {}
        self.registry: dict[str, list[dict[str, Any]]] = {}
        self.records: list[dict[str, Any]] = []
        self.packages: list[dict[str, Any]] = []
        self.repositories: dict[str, dict[str, bytes]] = {}
        self.licences: dict[str, str] = {}
        self.sent: Counter[str] = Counter()
        """Bytes of bodies by path."""
        self.requests: list[tuple[str, dict[str, str]]] = []
        self.faults: dict[str, Fault] = {}
        self.edit: Callable[[str, Any], Any] = lambda path, value: value
        """Changes a catalog before it is sent."""
        self._lock = threading.Lock()
        server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"kit": self}))
        server.daemon_threads = True
        self._server = server
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            server.socket = context.wrap_socket(server.socket, server_side=True)
        self.url = f"http{'s' if certificate else ''}://127.0.0.1:{server.server_address[1]}"
        self._thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def environment(self) -> dict[str, str]:
        """The addresses of this server for Dragoman, the hub and fxtranslate."""
        return {
            "DRAGOMAN_FIREFOX_REGISTRY": f"{self.url}/db/models.json",
            "DRAGOMAN_FIREFOX_RECORDS": f"{self.url}{RECORDS}",
            "DRAGOMAN_FIREFOX_ATTACHMENTS": f"{self.url}/cdn/",
            "DRAGOMAN_ARGOS_INDEX": f"{self.url}/index.json",
            "HF_ENDPOINT": self.url,
            "FXTRANSLATE_RECORDS_URL": f"{self.url}{RECORDS}",
        }

    def plant(self, path: str, fault: str, times: int = -1, option: Any = None) -> None:
        """Plant a fault in the answers to a path, or to those that contain it."""
        assert fault in FAULTS, fault
        self.faults[path] = Fault(fault, times, option)

    def add_firefox(  # noqa: PLR0913 -- one per field
        self,
        source: str,
        target: str,
        files: Mapping[str, bytes],
        *,
        version: str = "3.0",
        architecture: str = "tiny",
        status: str | None = "Release",
        condition: str = "",
        scores: Mapping[str, float] | None = None,
        tags: tuple[str, str] | None = None,
        registry: bool = True,
        records: bool = True,
    ) -> None:
        """Add a model whose files are named by type; `tags` are the languages in Remote Settings."""
        entry: dict[str, Any] = {"architecture": architecture, "releaseStatus": status}
        entry |= {"sourceLanguage": source, "targetLanguage": target, "files": {}, "modelStatistics": {}}
        if scores:
            entry["metrics"] = {"flores200-plus": dict(scores)}
        for kind, data in files.items():
            name = _firefox_name(kind, f"{source}{target}")
            path = f"models/{source}-{target}/run_{version}_{architecture}/exported/{name}.gz"
            stated = {"uncompressedSize": len(data), "uncompressedHash": sha256(data)} if kind == "model" else {}
            entry["files"][TYPES[kind]] = {"path": path} | stated
            if registry:
                self.files[f"/{path}"] = gzip.compress(data, 1, mtime=0)
            if records:
                self._add_record(kind, name, data, tags or (source, target), version, architecture, condition)
        if registry:
            self.registry.setdefault(f"{source}-{target}", []).append(entry)

    def _add_record(
        self, kind: str, name: str, data: bytes, tags: tuple[str, str], version: str, architecture: str, condition: str
    ) -> None:
        packed = zstandard.compress(data, 3)
        location = f"main-workspace/translations-models-v2/{uuid.uuid5(uuid.NAMESPACE_URL, name + sha256(data))}.zst"
        self.files[f"/cdn/{location}"] = packed
        attachment = {"hash": sha256(packed), "size": len(packed), "filename": f"{name}.zst", "location": location}
        self.records.append(
            {
                "id": str(uuid.uuid5(uuid.NAMESPACE_URL, f"{location}{version}{condition}")),
                "name": name,
                "fileType": kind,
                "sourceLanguage": tags[0],
                "targetLanguage": tags[1],
                "architecture": architecture,
                "version": version,
                "decompressedHash": sha256(data),
                "decompressedSize": len(data),
                "filter_expression": condition,
                "attachment": attachment | {"mimetype": "application/zstd"},
                "schema": 1,
                "last_modified": 1,
            }
        )

    def add_argos(self, source: str, target: str, package: bytes, version: str = "1.9") -> str:
        """Add a package and return its path."""
        code = f"translate-{source}_{target}"
        path = f"/argos/{code}-{version.replace('.', '_')}.argosmodel"
        self.files[path] = package
        entry: dict[str, Any] = {
            "package_version": version,
            "argos_version": "1.9.0",
            "from_code": source,
            "from_name": source,
        }
        entry |= {"to_code": target, "to_name": target, "links": ["ipfs://Qm", f"{self.url}{path}"], "code": code}
        self.packages.append(entry)
        return path

    def add_hub(self, repository: str, files: Mapping[str, bytes], licence: str = "apache-2.0") -> None:
        """Add a model of the hub; files of more than 1 KiB are those of Git LFS."""
        self.repositories[repository] = dict(files)
        self.licences[repository] = licence
        for name, data in files.items():
            self.files[f"/{repository}/resolve/{self.revision(repository)}/{name}"] = data

    def revision(self, repository: str) -> str:
        return hashlib.sha1(repository.encode()).hexdigest()

    def bytes_sent(self, part: str) -> int:
        """Bytes of bodies that were sent for paths with this part."""
        return sum(count for path, count in self.sent.items() if part in path)

    def catalog(self, path: str, query: Mapping[str, list[str]]) -> Any:
        """The JSON at a path, or None."""
        base = {"capabilities": {"attachments": {"base_url": f"{self.url}/cdn/"}}}
        fixed: dict[str, Any] = {
            "/db/models.json": {"generated": "2026-03-29T00:37:49Z", "baseUrl": self.url, "models": self.registry},
            RECORDS: {"data": self.records},
            "/v1/": base,
            "/index.json": self.packages,
        }
        if path in fixed:
            return fixed[path]
        if path == "/api/models":
            author, text = query.get("author", [""])[0] + "/", query.get("search", [""])[0]
            return [{"id": name} for name in self.repositories if name.startswith(author) and text in name]
        found = re.fullmatch(r"/api/models/([^/]+/[^/]+)/(revision|tree)/([^/]+)", path)
        if found and found[1] in self.repositories:
            return self._tree(found[1]) if found[2] == "tree" else self._revision(found[1])
        return None

    def _revision(self, repository: str) -> dict[str, Any]:
        siblings = [
            {"rfilename": each["path"], "size": each["size"], "blobId": each["oid"]}
            | (
                {"lfs": {"size": each["size"], "sha256": each["lfs"]["oid"], "pointerSize": 134}}
                if "lfs" in each
                else {}
            )
            for each in self._tree(repository)
        ]
        card = {"license": self.licences[repository]}
        return {"id": repository, "sha": self.revision(repository), "siblings": siblings, "cardData": card}

    def _tree(self, repository: str) -> list[dict[str, Any]]:
        listed = []
        for name, data in self.repositories[repository].items():
            entry: dict[str, Any] = {"type": "file", "path": name, "size": len(data), "oid": git_blob(data)}
            if len(data) > 1024:
                entry["lfs"] = {"oid": sha256(data), "size": len(data), "pointerSize": 134}
            listed.append(entry)
        return listed

    def fault(self, path: str) -> Fault | None:
        with self._lock:
            fault = next((each for part, each in self.faults.items() if part in path and each.times), None)
            if fault is not None and fault.times > 0:
                fault.times -= 1
            return fault

    def count(self, path: str, size: int) -> None:
        with self._lock:
            self.sent[path] += size


def git_blob(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


def firefox_files(folder: Path) -> dict[str, bytes]:
    """The files of an exported student by type, without compression."""
    found = {}
    for path in sorted(folder.iterdir()):
        kind = path.name.partition(".")[0]
        if kind in TYPES and path.is_file():
            data = path.read_bytes()
            found[kind] = gzip.decompress(data) if path.suffix == ".gz" else data
    return found


def _firefox_name(kind: str, pair: str) -> str:
    pair = pair.replace("-Hans", "").replace("-Hant", "")
    return {"model": f"model.{pair}.intgemm.alphas.bin", "lex": f"lex.50.50.{pair}.s2t.bin"}.get(
        kind, f"{kind}.{pair}.spm"
    )


class _Handler(BaseHTTPRequestHandler):
    kit: ModelServer
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self._answer(is_head=True)

    def do_GET(self) -> None:
        self._answer(is_head=False)

    def _answer(self, *, is_head: bool) -> None:
        parts = urlsplit(self.path)
        path = unquote(parts.path)
        self.kit.requests.append((path, {name.lower(): value for name, value in self.headers.items()}))
        fault = self.kit.fault(path)
        try:
            if fault is not None and self._refused(path, fault):
                return
            headers = {}
            value = self.kit.catalog(path, parse_qs(parts.query))
            if value is not None:
                value = self.kit.edit(path, value)
                body = value if isinstance(value, bytes) else json.dumps(value).encode()
                headers = {"Content-Type": "application/json", "Cache-Control": "max-age=3600"}
            elif (
                path in self.kit.files
                or re.sub("/resolve/main/", f"/resolve/{self._sha(path)}/", path) in self.kit.files
            ):
                path = (
                    path if path in self.kit.files else re.sub("/resolve/main/", f"/resolve/{self._sha(path)}/", path)
                )
                body = self.kit.files[path]
                headers = self._hub_headers(path, body)
            else:
                self._send(404, b"not found", {"Content-Type": "text/plain", "X-Error-Code": "RepoNotFound"}, path)
                return
            self._send_file(path, body, headers, fault, is_head=is_head)
        except (ConnectionError, TimeoutError):
            self.close_connection = True

    def _sha(self, path: str) -> str:
        return self.kit.revision(path.strip("/").split("/resolve/")[0])

    def _hub_headers(self, path: str, body: bytes) -> dict[str, str]:
        if "/resolve/" not in path:
            return {}
        headers = {"X-Repo-Commit": self._sha(path)}
        if len(body) > 1024:
            headers |= {"X-Linked-Etag": f'"{sha256(body)}"', "X-Linked-Size": str(len(body))}
        else:
            headers["ETag"] = f'"{git_blob(body)}"'
        return headers

    def _refused(self, path: str, fault: Fault) -> bool:
        """Send an answer that is not the file."""
        if fault.name == "html":
            self._send(200, PAGE, {"Content-Type": "text/html; charset=utf-8"}, path)
        elif fault.name in ("redirect", "redirect-loop"):
            to = fault.option if fault.name == "redirect" else self.path
            self._send(302, b"", {"Location": to}, path)
        elif fault.name in ("status", "status-long"):
            after = "0" if fault.name == "status" else "9000"
            self._send(fault.option, b"later", {"Retry-After": after}, path)
        else:
            return False
        return True

    def _send_file(
        self, path: str, body: bytes, headers: dict[str, str], fault: Fault | None, *, is_head: bool
    ) -> None:
        name = fault.name if fault else ""
        if name == "wrong-hash":
            body = body[:-1] + bytes([body[-1] ^ 1])
        if name == "longer":
            body += b"x"
        etag = headers.setdefault("ETag", f'"{sha256(body)[:40]}"')
        headers.setdefault("Content-Type", "application/octet-stream")
        if self.headers.get("If-None-Match") == etag:
            self._send(304, b"", headers, path)
            return
        status, whole = 200, len(body)
        begins = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if begins and name != "no-range" and self.headers.get("If-Range", etag) == etag:
            first = int(begins[1])
            if first >= whole:
                self._send(416, b"", {"Content-Range": f"bytes */{whole}"}, path)
                return
            last = int(begins[2] or whole - 1)
            status, body = 206, body[first : last + 1]
            headers["Content-Range"] = f"bytes {first}-{first + len(body) - 1}/{whole}"
        if name != "no-range":
            headers["Accept-Ranges"] = "bytes"
        self._send(status, body, headers, path, fault, is_head=is_head)

    def _send(
        self,
        status: int,
        body: bytes,
        headers: Mapping[str, str],
        path: str,
        fault: Fault | None = None,
        *,
        is_head: bool = False,
    ) -> None:
        name = fault.name if fault else ""
        self.send_response(status)
        length = len(body) + (name == "wrong-length")
        if name == "endless":
            self.close_connection = True
            headers = {**headers, "Connection": "close"}
        else:
            headers = {**headers, "Content-Length": str(length)}
        for key, value in headers.items():
            self.send_header(key, value)
        self.end_headers()
        if is_head or status == 304:
            return
        if name in ("cut", "cut-each"):
            body = body[: len(body) // 2 if name == "cut" else fault.option if fault else 0]
        if name in ("cut", "cut-each", "wrong-length"):
            self.close_connection = True
        if name == "slow":
            for place in range(len(body)):
                self._write(path, body[place : place + 1])
                time.sleep(fault.option if fault else 1.0)
        elif name == "endless":
            while True:
                self._write(path, bytes(1 << 16))
        else:
            for place in range(0, len(body), 1 << 16):
                self._write(path, body[place : place + (1 << 16)])
                time.sleep(fault.option if fault and name == "paced" else 0.0)

    def _write(self, path: str, data: bytes) -> None:
        self.wfile.write(data)
        self.wfile.flush()
        self.kit.count(path, len(data))
