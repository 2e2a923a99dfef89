"""`dragoman calibrate`: fit the confidence of a model to a test set."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.console import echo, print_json, print_next, report_errors
from dragoman.cli.options.arguments import BundlePath, Json, option
from dragoman.cli.options.derive import settings_options
from dragoman.cli.options.models import open_translator
from dragoman.config.engine import EngineSettings

Test = Annotated[tuple[Path, Path], option("SRC REF", "Two text files, one sentence per line.", "--test")]
Usable = Annotated[float, typer.Option(min=1.0, max=100.0, help="Least chrF++ of a usable translation.")]


@settings_options(engine=EngineSettings)
def calibrate(
    bundle: BundlePath, *, test: Test, usable: Usable = 50.0, json: Json = False, engine: EngineSettings
) -> None:
    """Fit the confidence of a model to a test set, and store it in the bundle.

    The test set must not be training text. The confidence is the probability that a translation has at least a chrF++
    of --usable; translations have it from then on. The other files of the bundle do not change.
    """
    with report_errors("the bundle is unchanged"):
        from dragoman.environment import require

        require("sacrebleu", "train", "dragoman calibrate")
        from dragoman.api.calibration import calibrate as fit
        from dragoman.cli.score_systems import read_test_set
        from dragoman.cli.screens.progress import ProgressDisplay

        sources, references = read_test_set(test)
        translator = open_translator(bundle, None, engine)
        with ProgressDisplay(unit="sentence") as progress:
            progress.begin("translating")
            found = fit(translator, sources, references, usable=usable, progress=progress)
    if json:
        facts = {"folder": str(found.bundle.folder), "sentences": found.sentences, "usable": found.usable}
        print_json(facts | {"calibration_error": found.calibration_error, "roc_area": found.roc_area})
        return
    echo(f"{found.usable:,} of {found.sentences:,} translations have at least a chrF++ of {usable:g}")
    if found.roc_area is not None:
        echo(
            f"by halves: calibration error {found.calibration_error:.3f}, area under the ROC curve {found.roc_area:.3f}"
        )
    echo(f"bundle  {found.bundle.folder}")
    print_next(f"dragoman translate {shlex.quote(str(bundle))} --min-confidence 0.5")
