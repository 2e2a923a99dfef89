"""Arguments and options that several commands share."""

import re
import shlex
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any

import typer

from dragoman.cli.help_pages import check_overrides
from dragoman.errors import ConfigError, did_you_mean
from dragoman.run_files import PROJECT

DEFAULT_CONFIG = Path(PROJECT)

_CLUSTER = "Cluster"


def option(
    metavar: str,
    help_: str,
    *names: str,
    panel: str | None = None,
    default: str | bool = True,
    parser: Callable[[Any], Any] | None = None,
    envvar: str | None = None,
) -> Any:
    """Return an option with a value; `default` is shown in place of the parameter's default."""
    return typer.Option(
        *names, metavar=metavar, help=help_, rich_help_panel=panel, show_default=default, parser=parser, envvar=envvar
    )


def argument(metavar: str, help_: str) -> Any:
    """Return an argument."""
    return typer.Argument(metavar=metavar, help=help_)


def flag(name: str, help_: str, panel: str | None = None) -> Any:
    """Return a boolean option without a value."""
    return typer.Option(name, help=help_, metavar="", rich_help_panel=panel, show_default=False)


def number(
    help_: str, *names: str, least: int = 1, metavar: str = "INT", panel: str | None = None, default: str | bool = True
) -> Any:
    """Return an option of a whole number of at least `least`; `default` is shown in its place."""

    def parse(text: str | int) -> int:
        value = int(text) if re.fullmatch(r"-?[0-9]{1,9}", str(text)) else None
        if value is None or value < least:
            raise typer.BadParameter(f"must be a whole number of at least {least}, got {text}")
        return value

    return typer.Option(*names, parser=parse, metavar=metavar, help=help_, rich_help_panel=panel, show_default=default)


def listed(names: Sequence[str]) -> str:
    """Return names as words of a sentence: ``a``, ``a or b``, ``a, b or c``."""
    return " or ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)


def one_of(*legal: str | int) -> Callable[[Any], Any]:
    """Return a parser that accepts these values only."""
    values = {str(each): each for each in legal}

    def parse(text: Any) -> Any:
        if str(text) not in values:
            raise typer.BadParameter(f"must be {listed(list(values))}, got {text}{did_you_mean(str(text), values)}")
        return values[str(text)]

    return parse


BundlePath = Annotated[
    Path, argument("MODEL", "Trained model: a bundle, a run, a project folder, or a name of dragoman models.")
]
MODEL_OR_EXAMPLE = argument(
    "MODEL",
    "Trained model: a bundle, a run, a project folder, or a name of dragoman models; without it, the "
    "example model of this installation, if it has one.",
)
Ensemble = Annotated[list[Path] | None, option("MODEL", "Another model of an ensemble. May be repeated.", "--ensemble")]
SourceText = Annotated[str, argument("SOURCE", "Text file, one sentence per line, may be .gz; - is stdin.")]
TargetText = Annotated[
    str | None, argument("TARGET", "Its translation. Without it, SOURCE has both, separated by a tab.")
]
Resume = Annotated[bool, flag("--resume", "Continue an interrupted translation.")]
On = Annotated[
    str | None,
    option(
        "ray[://HOST:PORT]",
        "Run on a Ray cluster; ray alone starts one on this machine.",
        "--on",
        panel=_CLUSTER,
        default="no cluster",
    ),
]
Workers = Annotated[
    int | None,
    number("Number of workers on the cluster.", "--workers", metavar="N", panel=_CLUSTER, default="all processors"),
]
Json = Annotated[bool, flag("--json", "Print JSON.")]
JsonLines = Annotated[bool, flag("--json", "Print one JSON object per line.")]

AllowNetwork = Annotated[bool, flag("--allow-network", "Allow URLs of the network.")]
ConfigFile = Annotated[Path, argument("CONFIG", "Configuration file, or the folder of dragoman.toml.")]
AnyConfig = Annotated[str, argument("CONFIG", "TOML file, preset, or folder of a project, a run or a bundle.")]
Overrides = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="A.B=C", callback=check_overrides, help="Override one setting. May be repeated."),
]
Processes = Annotated[int, number("Number of processes; it does not change the result.")]
OnBadLine = Annotated[
    str | None,
    option(
        "error|skip", "What to do with lines that are not valid text.", "--on-bad-line", parser=one_of("error", "skip")
    ),
]


def any_config(name: str) -> str:
    """Return the configuration file of a project, a run, a bundle or a stored model; or a file or preset by name."""
    from dragoman.config import preset_names

    if name in preset_names():
        return name
    from dragoman.bundle.locate import named_bundles

    path = next(iter(named_bundles(name)), Path(name))
    _check_config_name(path)
    return str(path / DEFAULT_CONFIG) if path.is_dir() else name


def config_file(path: Path) -> Path:
    """Return the configuration file of a project folder, or the path itself."""
    _check_config_name(path)
    if path == DEFAULT_CONFIG and not path.exists():
        raise ConfigError(
            f"there is no {path} in this folder; go to the folder of a project or name it, or make one with "
            "dragoman new"
        )
    path = path / DEFAULT_CONFIG if path.is_dir() else path
    if path.suffix == ".toml" and not path.exists():
        from dragoman.files import similar_path

        near = similar_path(path, (".toml",)) or "; check its spelling, or make a project with dragoman new"
        raise ConfigError(f"{path} does not exist{near}")
    from dragoman.api.training.project_config import check_project

    check_project(path)
    return path


def _check_config_name(path: Path) -> None:
    """Reject a folder without a configuration, and a lost path that is neither .toml nor like the name of a preset."""
    if path.is_dir() and not (path / DEFAULT_CONFIG).is_file():
        raise ConfigError(f"{path} has no {DEFAULT_CONFIG}; dragoman new writes one")
    if path.exists() or path.suffix == ".toml":
        return
    from dragoman.config import preset_names

    if not get_close_matches(str(path), preset_names(), cutoff=0.7):
        from dragoman.files import similar_path

        near = similar_path(path, (".toml",)) or "; dragoman config presets lists the presets"
        raise ConfigError(f"{path} is no folder of a project, no .toml file and no preset{near}")


def next_command(name: str, config: Path, overrides: Sequence[str] | None, *options: str) -> str:
    """Return a command for the same configuration."""
    typed = [] if config == DEFAULT_CONFIG else [str(config.parent if config.name == DEFAULT_CONFIG.name else config)]
    return shlex.join(
        ["dragoman", name, *typed, *(word for each in overrides or () for word in ("--set", each)), *options]
    )


def overrides_with(overrides: list[str] | None, on_bad_line: str | None) -> list[str]:
    """Return the overrides, with ``--on-bad-line`` as one of them."""
    return [*(overrides or []), *([f'data.on_bad_line="{on_bad_line}"'] if on_bad_line else [])]
