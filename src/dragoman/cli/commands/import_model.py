"""`dragoman import`: convert a model of another toolkit to a bundle."""

import shlex
from pathlib import Path
from typing import Annotated

from dragoman.cli.console import echo, print_json, print_next, report_errors
from dragoman.cli.options.arguments import Json, argument, option
from dragoman.cli.options.outputs import Force, check_bundle_folder
from dragoman.errors import ConfigError

Source = Annotated[
    Path,
    argument(
        "SOURCE",
        "Folder of the model (or its folder in the cache of Hugging Face), or an archive: .argosmodel, .zip, .tar.gz.",
    ),
]
Output = Annotated[Path | None, option("DIR", "Folder of the new bundle.", "--output", "-o", default="required")]
FromFormat = Annotated[
    str | None,
    option(
        "FORMAT",
        "Format: hugging-face, m2m100, argos, ctranslate2, firefox or marian; found from the files by default.",
        "--from",
    ),
]
SourceLanguage = Annotated[str | None, option("CODE", "Source language, if the files do not name it.")]
TargetLanguage = Annotated[
    str | None, option("CODE", "Target language, if the files do not name it, or the one to import of several.")
]
Languages = Annotated[
    str | None,
    option(
        "CODES", "Of a model with several directions, keep those between these languages: en,de,fr; all by default."
    ),
]
Licence = Annotated[str | None, option("TEXT", "Licence for the model card, if the files do not state it.")]


def import_model(  # noqa: PLR0913, PLR0917 -- one parameter per option
    source: Source,
    output: Output = None,
    from_format: FromFormat = None,
    source_language: SourceLanguage = None,
    target_language: TargetLanguage = None,
    languages: Languages = None,
    licence: Licence = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Convert a model to a bundle: OPUS-MT, M2M100, NLLB, Argos, CTranslate2, Firefox or Marian.

    The files are read without running code from them, and nothing is downloaded: `dragoman get` does that.
    """
    with report_errors("run the same command again"):
        from dragoman.cli.screens.progress import ProgressDisplay
        from dragoman.importing.import_model import check_source
        from dragoman.importing.import_model import import_model as run

        check_source(source)
        if output is None:
            command = shlex.join(["dragoman", "import", str(source), "-o", "DIR"])
            raise ConfigError(f"--output is missing; name the folder of the new bundle: {command}")
        check_bundle_folder(output, force=force)
        with ProgressDisplay() as progress:
            result = run(
                source,
                output,
                format_name=from_format,
                languages=(source_language, target_language),
                only_languages=[code.strip() for code in languages.split(",") if code.strip()] if languages else (),
                licence=licence,
                progress=progress,
            )
    if json:
        facts = {"format": result.format, "folder": str(result.bundle.folder), "digest": result.bundle.digest}
        print_json(facts | {"parameters": result.bundle.parameter_count(), "notes": list(result.notes)})
        return
    for note in result.notes:
        echo(f"note: {note}", err=True)
    echo(f"bundle  {result.bundle.folder}")
    print_next(f"dragoman translate {shlex.quote(str(output))}")
