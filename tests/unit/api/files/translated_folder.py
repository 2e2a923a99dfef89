"""Translate a folder as the command does."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dragoman.api.files.file_translation import MapBlocks, OnProgress
from dragoman.api.files.folder_translation import FolderResult, check_folders, translate_files


def translate_folder(
    translate_blocks: MapBlocks,
    folder: Path,
    output: Path,
    *,
    job: Mapping[str, Any],
    resume: bool = False,
    force: bool = False,
    on_progress: OnProgress | None = None,
) -> FolderResult:
    """Translate the files of a folder into files of the same names."""
    names, _ = check_folders(folder, output, resume=resume, force=force)
    return translate_files(
        translate_blocks,
        {name: folder / name for name in names},
        output,
        job=job,
        resume=resume,
        force=force,
        on_progress=on_progress,
    )
