"""Curves to look at in TensorBoard while a model learns; the truth about them is in log.jsonl."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from dragoman.data.check.visible import visible
from dragoman.environment import is_installed
from dragoman.training.progress import Sample

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter

__all__ = ["Curves"]

_FLUSHED = 30  # seconds after which what was drawn is in the file at the latest


class Curves:
    """TensorBoard event files in a folder. Nobody's training stops for want of them: it is noted, and they end."""

    def __init__(self, folder: Path, update: int, note: Callable[[str], None]) -> None:
        """Go on after `update`: what an earlier start drew beyond it is taken back."""
        self._folder, self._note = folder, note
        self._writer: SummaryWriter | None = None
        if is_installed("tensorboard"):
            self._open(update)
        else:
            note('there are no TensorBoard curves, for want of the package; pip install "dragoman[train]" brings it')

    def go_back(self, update: int) -> None:
        """Take back what was drawn after an update, and go on from there."""
        if self._writer is not None:
            self.close()
            self._open(update)

    def _open(self, update: int) -> None:
        from torch.utils.tensorboard import SummaryWriter  # noqa: PLC0415 -- takes seconds; only where something trains

        try:
            self._writer = SummaryWriter(str(self._folder), purge_step=update + 1, flush_secs=_FLUSHED)
        except OSError as error:
            self._give_up(error)

    def draw(self, update: int, numbers: Mapping[str, float]) -> None:
        """A point of each curve."""
        if self._writer is None:
            return
        try:
            for name, number in numbers.items():
                self._writer.add_scalar(name, number, update)
        except OSError as error:  # of the thread that writes, at an earlier point
            self._give_up(error)

    def show(self, update: int, samples: Iterable[Sample]) -> None:
        """Samples as text; then all so far is in the file."""
        if self._writer is None:
            return
        try:
            for number, sample in enumerate(samples, 1):
                self._writer.add_text(f"sample/{number}", _preformatted(sample), update)
            self._writer.flush()
        except OSError as error:
            self._give_up(error)

    def close(self) -> None:
        """Nothing more will be drawn."""
        writer, self._writer = self._writer, None
        if writer is None:
            return
        try:
            writer.close()
        except OSError as error:
            self._give_up(error)

    def _give_up(self, error: OSError) -> None:
        self._writer = None
        self._note(f"there are no more TensorBoard curves, for they cannot be written: {error}")


def _preformatted(sample: Sample) -> str:
    """As a block that TensorBoard shows as it is: what looks like Markdown in a sentence stays what it was."""
    parts = (("source", sample.source), ("reference", sample.reference), ("translation", sample.translation))
    return "\n".join(f"    {name:<13}{visible(text, 2000)}" for name, text in parts)
