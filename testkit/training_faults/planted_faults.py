"""``dragoman`` with a fault planted in it: what a campaign must catch, or it has shown nothing.

``python -m testkit.training_faults.planted_faults FAULT train …`` is the command line with that fault.
"""

from __future__ import annotations

import sys


def _forget_optimizer() -> None:
    """A resumed run has a new optimizer."""
    from dragoman.training import checkpoint

    setattr(checkpoint, "load_optimizer_state", lambda model, optimizer, tensors: None)  # noqa: B010 -- imported there


def _forget_place() -> None:
    """A resumed run reads its data from the beginning."""
    from dragoman.data.loader import BatchLoader

    BatchLoader.resume = lambda loader, state: None  # type: ignore[method-assign, assignment]


def _careless_disk() -> None:
    """Errors of writing a checkpoint are ignored."""
    from dragoman.training.checkpoint import CheckpointManager

    save = CheckpointManager.save

    def unconcerned(manager: CheckpointManager, *arguments: object, **named: object) -> None:
        try:
            save(manager, *arguments, **named)  # type: ignore[arg-type]
        except Exception:  # noqa: BLE001 -- that is the fault
            return

    CheckpointManager.save = unconcerned  # type: ignore[method-assign, assignment]


FAULTS = {"forget-optimizer": _forget_optimizer, "forget-place": _forget_place, "careless-disk": _careless_disk}


def plant(fault: str) -> None:
    """Make this process faulty."""
    FAULTS[fault]()


if __name__ == "__main__":
    plant(sys.argv.pop(1))
    from dragoman.cli.main import main

    main()
