"""The comparison of two versions."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.versions import Version


def test_standard_error_of_a_failed_process_is_shown(tmp_path: Path) -> None:
    package = tmp_path / "src" / "dragoman"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text('raise ImportError("a planted fault")\n', encoding="utf-8")
    version = Version(tmp_path, tmp_path, "run")
    try:
        with pytest.raises(
            SystemExit, match=r"must run until the end, got exit code 1; [^$]*ImportError: a planted fault"
        ):
            version.measure(1)
    finally:
        version.close()
