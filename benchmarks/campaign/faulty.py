"""``dragoman`` with a fault planted in it: what a campaign must catch, or it has shown nothing.

``python -m benchmarks.campaign.faulty FAULT train …`` is the command line with that fault.
"""

from __future__ import annotations

import sys

__all__ = ["FAULTS", "plant"]


def _forget_optimizer() -> None:
    """A run that goes on does so with a fresh optimizer."""
    from dragoman.training import keeper

    setattr(keeper, "load_optimizer", lambda model, optimizer, tensors: None)  # noqa: B010 -- imported there


def _forget_place() -> None:
    """A run that goes on reads its data from the beginning again."""
    from dragoman.data.loader import Loader

    Loader.resume = lambda loader, state: None  # type: ignore[method-assign, assignment]


def _careless_disk() -> None:
    """A checkpoint that could not be written is nobody's concern."""
    from dragoman.training.keeper import Keeper

    save = Keeper.save

    def unconcerned(keeper: Keeper, *arguments: object, **named: object) -> None:
        try:
            save(keeper, *arguments, **named)  # type: ignore[arg-type]
        except Exception:  # noqa: BLE001 -- that is the fault
            return

    Keeper.save = unconcerned  # type: ignore[method-assign, assignment]


FAULTS = {"forget-optimizer": _forget_optimizer, "forget-place": _forget_place, "careless-disk": _careless_disk}


def plant(fault: str) -> None:
    """Make this process faulty."""
    FAULTS[fault]()


if __name__ == "__main__":
    plant(sys.argv.pop(1))
    from dragoman.cli.main import main

    main()
