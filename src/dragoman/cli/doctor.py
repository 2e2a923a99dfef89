"""``dragoman doctor``: what is installed, what runs here, what is missing."""

from __future__ import annotations

from dataclasses import asdict

import typer

from dragoman.cli.config import Json
from dragoman.cli.console import print_json, print_table

__all__ = ["doctor"]


def doctor(json: Json = False) -> None:
    """Say what is installed, what runs here, and what is missing with the command that mends it."""
    from dragoman import __version__
    from dragoman.environment import extras, machine

    here, found = machine(), extras()
    if json:
        packages = {extra or "base": [asdict(package) for package in listed] for extra, listed in found.items()}
        print_json({"dragoman": __version__, "machine": asdict(here), "packages": packages})
        return
    typer.echo(f"dragoman {__version__}\n")
    print_table(
        [
            ("system", here.system),
            ("processor", f"{here.processor}, {here.cores} cores"),
            ("fast instructions", ", ".join(here.features) or "none that matter here"),
            ("memory", f"{here.memory_gib:.1f} GiB"),
            ("accelerators", ", ".join(here.accelerators) or "none: everything runs on the processor"),
            ("Python", here.python),
            ("torch", here.torch or "not installed"),
        ]
    )
    for extra, wanted in found.items():
        missing = [package.name for package in wanted if not package.is_there]
        typer.echo(
            f"\n{extra or 'base install'}: {'complete' if not missing else 'missing or too old: ' + ', '.join(missing)}"
        )
        if missing:
            name = f'"dragoman[{extra}]"' if extra else "dragoman"
            typer.echo(f"  mend it: pip install --upgrade {name}")
        print_table([(f"  {p.name}", p.installed or "–", f"wanted {p.wanted or 'any'}") for p in wanted])
