"""Archives of one model: zips of OPUS-MT and tar.gz of translateLocally, and what is refused in them."""

import gzip
import io
import json
import tarfile
import zipfile
from pathlib import Path

import pytest

from dragoman.errors import BundleError
from dragoman.importing.import_model import import_model
from testkit.random_models.random_firefox import firefox_folder, options, random_arrays, tokens_of, write_npz
from testkit.random_models.random_marian import SHAPES, write_vocabularies


@pytest.fixture
def vocabulary(tmp_path: Path) -> bytes:
    (tmp_path / "spm").mkdir()
    write_vocabularies(tmp_path / "spm", SHAPES["shared, swish"])
    return (tmp_path / "spm" / "source.spm").read_bytes()


def packed(archive: Path, files: dict[str, bytes]) -> Path:
    with tarfile.open(archive, "w:gz") as opened:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            opened.addfile(member, io.BytesIO(data))
    return archive


@pytest.fixture
def student(vocabulary: bytes, tmp_path: Path) -> dict[str, bytes]:
    """The files of an archive of translateLocally, with the languages in model_info.json only."""
    folder = firefox_folder(tmp_path / "model", vocabulary, lexicon=True)
    names = {"model.enpt.intgemm.alphas.bin": "model.intgemm.alphas.bin", "vocab.enpt.spm": "vocab.enaf.spm"}
    names["lex.50.50.enpt.s2t.bin"] = "lex.s2t.bin"
    files = {f"af-en/{new}": (folder / old).read_bytes() for old, new in names.items()}
    info = {"modelName": "Afrikaans-English tiny", "shortName": "af-en-tiny", "srcTags": {"af": "Afrikaans"}}
    files["af-en/model_info.json"] = json.dumps(info | {"trgTag": "en", "type": "tiny", "version": 1}).encode()
    files["af-en/config.intgemm8bitalpha.yml"] = (
        b"relative-paths: true\nmodels:\n  - model.intgemm.alphas.bin\nvocabs:\n  - vocab.enaf.spm\n"
        b"  - vocab.enaf.spm\nshortlist:\n    - lex.s2t.bin\n    - false\nbeam-size: 1\n"
    )
    return files


def test_an_archive_of_translate_locally_is_imported(student: dict[str, bytes], tmp_path: Path):
    result = import_model(packed(tmp_path / "afr-eng.tar.gz", student), tmp_path / "a")
    assert result.format == "firefox"
    assert result.bundle.config.data is not None
    assert (result.bundle.config.data.source, result.bundle.config.data.target) == ("af", "en")
    assert result.bundle.shortlist() is not None
    for name, data in student.items():
        (tmp_path / "folder" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "folder" / name).write_bytes(data)
    folder = import_model(tmp_path / "folder" / "af-en", tmp_path / "b").bundle
    for name in ("weights.safetensors", "tokenizer.imported"):
        assert (folder.folder / name).read_bytes() == (result.bundle.folder / name).read_bytes()


def test_a_zip_of_opus_mt_is_imported(vocabulary: bytes, tmp_path: Path):
    size = tokens_of(vocabulary)
    write_npz(tmp_path / "model.npz", random_arrays(size, ssru=False), options())
    with zipfile.ZipFile(tmp_path / "opus-2020-02-26.zip", "w") as archive:
        archive.write(tmp_path / "model.npz", "opus.spm32k-spm32k.transformer-align.model1.npz.best-perplexity.npz")
        archive.writestr("source.spm", vocabulary)
        archive.writestr("target.spm", vocabulary)
        tokens = ["</s>", "<unk>", *(f"token{number}" for number in range(size - 2))]
        archive.writestr("opus.vocab.yml", "".join(f"{token}: {place}\n" for place, token in enumerate(tokens)))
        archive.writestr("README.md", "# opus-2020-02-26.zip\n\n* source languages: en\n* target languages: de\n")
        archive.writestr("preprocess.sh", "exit 1")
    result = import_model(tmp_path / "opus-2020-02-26.zip", tmp_path / "a")
    assert result.format == "marian"
    assert result.bundle.config.data is not None
    assert (result.bundle.config.data.source, result.bundle.config.data.target) == ("en", "de")
    assert "opus.vocab.yml" in result.bundle.card()


def huge_header(student: dict[str, bytes]) -> bytes:
    """An archive whose first extended header states 64 MB."""
    member = tarfile.TarInfo("header")
    member.type, member.size = tarfile.XHDTYPE, 64 << 20
    return member.tobuf() + bytes(1024) + b"".join(student.values())[:1000]


@pytest.mark.parametrize(
    ("fault", "complaint"),
    [
        ("twice", r"must hold model\.intgemm\.alphas\.bin once, as a plain file of at most"),
        ("link", r"must hold vocab\.x\.spm once, as a plain file"),
        ("bomb", "must expand to at most"),
        ("header", r"must be a tar\.gz archive, got: a header is too large"),
        ("cut", r"must be a tar\.gz archive, got: Compressed file ended"),
        ("text", r"must be a tar\.gz archive, got: Not a gzipped file"),
        ("other", "must hold a model of a known format"),
        ("outside", "must hold a model of a known format"),
        ("many", "must hold at most 2,000 files"),
    ],
)
def test_a_hostile_archive_is_refused(fault: str, complaint: str, student: dict[str, bytes], tmp_path: Path):
    path = tmp_path / "a.tar.gz"
    files = {
        "twice": student | {"model.intgemm.alphas.bin": b"x"},
        "bomb": student | {"zeros": bytes(40 << 20)},
        "other": {"af-en/notes.txt": b"x"},
        "outside": {f"../../{name}": data for name, data in student.items()},
        "many": {f"{number}.txt": b"" for number in range(2001)},
    }.get(fault, student)
    packed(path, files)
    if fault == "link":
        with tarfile.open(path, "w:gz") as opened:
            member = tarfile.TarInfo("vocab.x.spm")
            member.type, member.linkname = tarfile.SYMTYPE, "/etc/passwd"
            opened.addfile(member)
    elif fault == "header":
        path.write_bytes(gzip.compress(huge_header(student)))
    elif fault == "cut":
        path.write_bytes(path.read_bytes()[:-2000])
    elif fault == "text":
        path.write_text("no archive")
    with pytest.raises(BundleError, match=complaint):
        import_model(path, tmp_path / "b")
    assert not (tmp_path / "b").exists()
