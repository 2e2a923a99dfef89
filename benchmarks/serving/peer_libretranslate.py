"""Run LibreTranslate with our model: the same CTranslate2 files and tokens, as a package of Argos Translate.

Nothing is downloaded. LibreTranslate would download a model that splits sentences; here it uses spaCy's rule for full
stops, which is one of its settings, is part of the package, and is faster. With fewer than two packages it queries its
index: so the model is installed twice, and the other direction is not used.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from benchmarks.peers.environments import Environment, install
from benchmarks.serving.process import Server, StartError, free_port
from dragoman.bundle import Bundle
from dragoman.engines.ctranslate2.export import export_ctranslate2
from dragoman.engines.export_cache import Precision

ENVIRONMENT = Environment(
    "libretranslate", "libretranslate", packages=("libretranslate==1.9.6", "spacy==3.8.*"), torch=False
)
NAMES = {"en": "English", "de": "German", "fr": "French"}


def write_package(bundle: Bundle, folder: Path, python: Path, precision: Precision) -> None:
    """Write the folder of a package: model, tokenizer, metadata, and spaCy's empty pipeline."""
    folder.mkdir(parents=True)
    (folder / "model").mkdir()
    export_ctranslate2(bundle, folder / "model", precision)
    tokenizer = bundle.tokenizers()["source"]
    if tokenizer.to_bytes() != bundle.tokenizers()["target"].to_bytes():
        raise SystemExit(
            "the model must have one joint vocabulary, got two; Argos Translate has one tokenizer per package"
        )
    (folder / "sentencepiece.model").write_bytes(tokenizer.to_bytes())
    source, target = languages(bundle)
    write_facts(folder, source, target)
    code = "import sys, spacy; spacy.blank(sys.argv[1]).to_disk(sys.argv[2])"
    subprocess.run([python, "-W", "ignore", "-c", code, source, str(folder / "spacy")], check=True)


def write_facts(folder: Path, source: str, target: str) -> None:
    facts = {
        "package_version": "1.0",
        "argos_version": "1.9",
        "from_code": source,
        "from_name": NAMES.get(source, source),
        "to_code": target,
        "to_name": NAMES.get(target, target),
        "type": "translate",
    }
    (folder / "metadata.json").write_text(json.dumps(facts), encoding="utf-8")


def languages(bundle: Bundle) -> tuple[str, str]:
    data = bundle.config.data
    if data is None:
        raise SystemExit("the bundle must name its languages, got no [data]; train it with one")
    return data.source, data.target


class Peer:
    """An installed LibreTranslate with our package in a separate folder."""

    def __init__(
        self, bundle: Bundle, work: Path, environments: Path, *, precision: Precision, threads: int, beam: int
    ):
        self.work, self.threads, self.beam = work, threads, beam
        self.python = install(ENVIRONMENT, environments)
        packages = work / "packages"
        write_package(bundle, packages / "model", self.python, precision)
        shutil.copytree(packages / "model", packages / "unused")
        write_facts(packages / "unused", *languages(bundle)[::-1])
        kept = work / "cache" / "argos-translate" / "spacy" / "senter"
        kept.mkdir(parents=True)
        (kept / "model").touch()  # without this file it downloads a pipeline that it does not use

    def environment(self) -> Mapping[str, str]:
        """Return Argos Translate's settings: one batch per thread like ours, not all threads for one batch."""
        return {
            "ARGOS_PACKAGES_DIR": str(self.work / "packages"),
            "ARGOS_CHUNK_TYPE": "SPACY",
            "ARGOS_INTER_THREADS": str(self.threads),
            "ARGOS_INTRA_THREADS": "1",
            "ARGOS_BEAM_SIZE": str(self.beam),
            "ARGOS_PACKAGE_INDEX": "http://127.0.0.1:9/",
            "XDG_CACHE_HOME": str(self.work / "cache"),
            "XDG_DATA_HOME": str(self.work / "data"),
            "XDG_CONFIG_HOME": str(self.work / "config"),
            "PYTHONWARNINGS": "ignore",
        }

    def start(self, waitress_threads: int) -> Server:
        """Start it with this number of request threads."""
        port = free_port()
        command = [str(self.python.with_name("libretranslate")), "--host", "127.0.0.1", "--port", str(port)]
        command += ["--threads", str(waitress_threads), "--disable-web-ui"]
        server = Server(command, port, self.work / "libretranslate.log", ready="/health", env=self.environment())
        try:
            server.wait_until_ready()
        except StartError:
            server.stop()
            raise
        return server
