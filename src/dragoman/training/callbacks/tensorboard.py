"""Write TensorBoard curves during training, in addition to log.jsonl."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from dragoman.environment import install_command, is_installed
from dragoman.reporting.safe_display_text import visible
from dragoman.training.callbacks.events import ValidationSample

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter

_FLUSH_SECONDS = 30


class TensorBoardWriter:
    """TensorBoard event files in a folder. If they cannot be written, a message is reported and training continues."""

    def __init__(self, folder: Path, update: int, note: Callable[[str], None]) -> None:
        """Continue after `update`; later points of an earlier start are removed."""
        self._folder, self._note = folder, note
        self._writer: SummaryWriter | None = None
        if is_installed("tensorboard"):
            self._open(update)
        else:
            note(f"no TensorBoard curves are written: the package is missing; run {install_command('train')}")

    def roll_back(self, update: int) -> None:
        """Remove the points after an update."""
        if self._writer is not None:
            self.close()
            self._open(update)

    def _open(self, update: int) -> None:
        from torch.utils.tensorboard import SummaryWriter  # noqa: PLC0415 -- takes seconds; only where something trains

        try:
            self._writer = SummaryWriter(str(self._folder), purge_step=update + 1, flush_secs=_FLUSH_SECONDS)
        except OSError as error:
            self._disable(error)

    def add_scalars(self, update: int, numbers: Mapping[str, float]) -> None:
        if self._writer is None:
            return
        try:
            for name, number in numbers.items():
                self._writer.add_scalar(name, number, update)
        except OSError as error:  # raised by the writing thread for an earlier point
            self._disable(error)

    def add_samples(self, update: int, samples: Iterable[ValidationSample]) -> None:
        """Add samples as text, and flush the file."""
        if self._writer is None:
            return
        try:
            for number, sample in enumerate(samples, 1):
                self._writer.add_text(f"sample/{number}", _preformatted(sample), update)
            self._writer.flush()
        except OSError as error:
            self._disable(error)

    def close(self) -> None:
        writer, self._writer = self._writer, None
        if writer is None:
            return
        try:
            writer.close()
        except OSError as error:
            self._disable(error)

    def _disable(self, error: OSError) -> None:
        self._writer = None
        self._note(f"no more TensorBoard curves are written: {error}")


def _preformatted(sample: ValidationSample) -> str:
    """Format a sample as a code block, in which TensorBoard does not interpret Markdown."""
    parts = (("source", sample.source), ("reference", sample.reference), ("translation", sample.translation))
    return "\n".join(f"    {name:<13}{visible(text, 2000)}" for name, text in parts)
