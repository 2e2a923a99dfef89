"""`dragoman doctor`: report the hardware, the installed packages, and commands that install missing ones."""

from dataclasses import asdict

from dragoman.cli.console import echo, print_json, print_table
from dragoman.cli.options.arguments import Json


def doctor(json: Json = False) -> None:
    """Report the machine, installed packages, and commands that install missing ones."""
    from dragoman.environment import DEVELOPMENT_EXTRAS, extras, install_command, machine_info
    from dragoman.version import __version__

    here = machine_info()
    found = {extra: listed for extra, listed in extras().items() if extra not in DEVELOPMENT_EXTRAS}
    if json:
        packages = {extra or "base": [asdict(package) for package in listed] for extra, listed in found.items()}
        print_json({"dragoman": __version__, "machine": asdict(here), "packages": packages})
        return
    echo(f"dragoman {__version__}\n")
    print_table(
        [
            ("system", here.system),
            ("processor", f"{here.processor}, {here.cores} cores"),
            ("fast instructions", ", ".join(here.features) or "none"),
            ("memory", f"{here.memory_gib:.1f} GiB"),
            ("accelerators", ", ".join(here.accelerators) or "none"),
            ("Python", here.python),
            ("torch", here.torch or "not installed"),
        ]
    )
    for extra, wanted in found.items():
        missing = [package.name for package in wanted if not package.is_satisfied]
        echo(
            f"\n{extra or 'base install'}: {'complete' if not missing else 'missing or too old: ' + ', '.join(missing)}"
        )
        if missing:
            echo(f"  install: {install_command(extra, upgrade=True)}")
        print_table([(f"  {p.name}", p.installed or "–", f"wanted {p.required or 'any'}") for p in wanted])
