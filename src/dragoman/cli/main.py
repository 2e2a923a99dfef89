"""The `dragoman` command; each subcommand is imported only when it runs."""

import gc
import inspect
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, Any

import typer

from dragoman.cli.console import EXIT_CODES, print_error, print_stop, report_errors, set_command
from dragoman.cli.help_pages import HELP_NAMES, PlainCommand, PlainGroup, UsageFault, usage_message
from dragoman.plugins import installed_plugins
from dragoman.stop_signal import raise_on_sigterm
from dragoman.version import __version__

os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # looking for them reads the metadata of all packages

COMMANDS = {
    "demo": "Train a small model of dates in about a minute and show its attention.",
    "new": "Write a commented dragoman.toml for a corpus, with a preset for its size.",
    "check": "Check corpora: errors by file and line, leakage, cleaning and training cost.",
    "prepare": "Clean, de-duplicate and split corpora, learn the tokenizer and write shards.",
    "train": "Train a model and write a bundle.",
    "tune": "Search hyper-parameters by successive halving; every trial is a run.",
    "average": "Average the weights of a run's newest checkpoints into a bundle.",
    "translate": "Translate lines of text, the text files of a folder, or a document with its layout.",
    "backtranslate": "Write synthetic pairs from text of the target language: back-translation.",
    "distill": "Write a corpus of a teacher's translations, to train a smaller or faster student.",
    "score": "Print the log-probability of given translations.",
    "evaluate": "Score systems on a test set: BLEU, chrF++ and TER of sacreBLEU, with intervals.",
    "align": "Print word alignments of sentence pairs.",
    "compare": "Compare runs, bundles or files of translations in one HTML page.",
    "inspect": "Inspect a translation: attention, alternatives and their continuations.",
    "import": "Convert a model to a bundle: OPUS-MT, M2M100, NLLB, Argos, CTranslate2, Firefox or Marian.",
    "export": "Export a bundle for CTranslate2 or ONNX Runtime.",
    "merge": "Merge a LoRA adapter into the weights of the bundle it was trained from.",
    "prune": "Copy a bundle without the tokens that some languages or text do not need.",
    "quantize": "Copy a bundle with int8 weights: a quarter of the size.",
    "calibrate": "Fit the confidence of a model to a test set, and store it in the bundle.",
    "shortlist": "Copy a bundle and add a lexical shortlist, for an SSRU decoder.",
    "adapt": "Adapt a model to the approved units of translation memories.",
    "serve": "Serve models over HTTP: LibreTranslate and DeepL APIs, our own API, and a web page.",
    "get": "Download a model of a language pair, verify it and store it as a bundle.",
    "models": "List the stored models; search, remove, verify and update them.",
    "mirror": "Write a folder of models for machines without network, or for a web server.",
    "memory": "Import, export, list, search, review, share and remove translation memories.",
    "database": "Back up and restore the database of memories and servers; export and erase the data of an API key.",
    "config": "Show configurations, presets and the JSON Schema.",
    "doctor": "Report the machine, installed packages, and commands that install missing ones.",
}
"""Subcommands with the first line of their help."""

_MODULES = {
    "import": "import_model",
    "mirror": "get",
    **dict.fromkeys(("average", "merge", "prune", "quantize", "shortlist"), "changed_bundles"),
    **dict.fromkeys(("backtranslate", "distill"), "synthetic_corpora"),
}
"""Modules of subcommands in `dragoman.cli.commands` that have another name than the command."""

_NEW_OBJECTS = 50_000
"""Objects between two garbage collections; the default of 700 takes a tenth of the time of a start."""


def load_command(name: str) -> Any:
    """Import a subcommand and return its Click command."""
    module_name = _MODULES.get(name, name)
    module = import_module(f"dragoman.cli.commands.{module_name}")
    if hasattr(module, "app"):
        return _group(name, module.app)
    single = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    function = getattr(module, name, None) or getattr(module, module_name)  # import is a keyword
    paragraphs = inspect.cleandoc(function.__doc__).split("\n\n")
    help_ = "\n\n".join(" ".join(each.split()) for each in paragraphs)
    single.command(name, cls=PlainCommand, help=help_, context_settings=HELP_NAMES)(function)
    return typer.main.get_command(single)


def _group(name: str, app_: typer.Typer) -> Any:
    """Return a group of commands with plain help pages."""
    group = typer.Typer(
        name=name,
        cls=PlainGroup,
        help=app_.info.help,
        context_settings=HELP_NAMES,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    group.registered_callback = app_.registered_callback  # what the group does without a command
    for each in app_.registered_commands:
        each.cls, each.context_settings = PlainCommand, HELP_NAMES
        group.registered_commands.append(each)
    return typer.main.get_command(group)


def _set_command(args: Sequence[str]) -> None:
    set_command(next((word for word in args if word in COMMANDS), ""), json_errors="--json" in args)


class LazyGroup(PlainGroup):
    """The root group, whose commands are stubs until one of them is used."""

    def main(self, args: Any = None, *more: Any, **extra: Any) -> Any:
        """Parse and run a command line; errors of the parser are one line, and JSON with ``--json``."""
        args = sys.argv[1:] if args is None else list(args)
        _set_command(args)
        try:
            code = super().main(args, *more, **{**extra, "standalone_mode": False})
        except UsageFault as error:
            print_error(usage_message(error), error.exit_code, "UsageError")
            code = error.exit_code
        except typer.Abort as error:  # a stop signal while a question waits for its answer
            code = print_stop(error.__context__)
        sys.exit(code if isinstance(code, int) else 0)

    def make_context(self, *args: Any, **extra: Any) -> Any:
        """Parse the options before the command; a stop signal is reported here: Typer would exit without a line."""
        with report_errors():
            return super().make_context(*args, **extra)

    def invoke(self, ctx: Any) -> Any:
        """Import and run the command; a stop signal is reported here as well."""
        with report_errors():
            return super().invoke(ctx)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Import the command that is called."""
        if args and args[0] in COMMANDS:
            self.commands[args[0]] = load_command(args[0])
        return super().resolve_command(ctx, args)


_UNSET_FLAGS = dict.fromkeys(("help", "install_completion", "show_completion"), False)
"""Defaults that Typer need not convert: its converters import pydantic, which takes longer than a help page."""

app = typer.Typer(
    name="dragoman",
    cls=LazyGroup,
    help="Train, inspect and serve neural translation models.",
    epilog="Exit codes: " + "; ".join(f"{code}, {meaning}" for code, meaning in EXIT_CODES.items()) + ".",
    context_settings={**HELP_NAMES, "default_map": _UNSET_FLAGS},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for _name, _help in COMMANDS.items():
    app.command(_name, help=_help)(lambda: None)


def _print_version(is_given: bool) -> None:
    if is_given:
        typer.echo(f"dragoman {__version__}")
        for plugin in installed_plugins():
            typer.echo(f"plug-in {plugin}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_print_version,
            is_eager=True,
            help="Print the version and the plug-ins, and exit.",
            show_default=False,
        ),
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line; entry point of the console script."""
    gc.set_threshold(_NEW_OBJECTS)
    _open_missing_streams()
    _set_command(sys.argv[1:])  # the exit code after SIGTERM depends on it
    raise_on_sigterm()
    try:
        with report_errors():
            app(prog_name="dragoman")
    except typer.Exit as ended:
        sys.exit(ended.exit_code)
    finally:
        _discard_unwritable_output()


def _open_missing_streams() -> None:
    """Replace standard streams that the calling program has closed, which Python represents by None."""
    sys.stdin = sys.stdin or open(os.devnull, encoding="utf-8")  # noqa: PTH123, SIM115 -- open until the end
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115


def _discard_unwritable_output() -> None:
    """Discard buffered output that cannot be written: the interpreter would flush it again at exit, and fail."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
