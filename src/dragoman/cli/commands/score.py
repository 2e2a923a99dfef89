"""`dragoman score`: print log-probabilities of given translations."""

import json as json_
from pathlib import Path
from typing import Annotated

from dragoman.cli.console import echo, report_errors
from dragoman.cli.options.arguments import BundlePath, Ensemble, JsonLines, SourceText, TargetText
from dragoman.cli.options.derive import settings_options
from dragoman.cli.options.models import note_swapped_sides, open_translator
from dragoman.cli.options.outputs import Force, check_output, output_option, stdout_to
from dragoman.config.engine import EngineSettings

_ENDINGS = (".tsv", ".json", ".jsonl")

Output = Annotated[Path | None, output_option(_ENDINGS)]


@settings_options(engine=EngineSettings, exclude={"batch_tokens", "shortlist"})
def score(
    bundle: BundlePath,
    source: SourceText,
    target: TargetText = None,
    *,
    ensemble: Ensemble = None,
    output: Output = None,
    force: Force = False,
    json: JsonLines = False,
    engine: EngineSettings,
) -> None:
    """Print the log-probability of given translations.

    Each line has the natural log p of a translation, a tab, and log p divided by its length in tokens, the end of the
    sentence included.
    """
    with report_errors("start it again"):
        if output is not None:
            check_output(output, _ENDINGS, force=force)
            json = json or output.suffix.lower() != ".tsv"
        from dragoman.api.files.parallel_lines import read_pairs, score_pairs

        pairs = read_pairs(source, target)
        translator = open_translator(bundle, ensemble, engine)
        pairs = note_swapped_sides(pairs, translator.languages, in_one_file=target is None)
        with stdout_to(output):
            for scored in score_pairs(translator, pairs, source):
                line = f"{scored.log_prob:.6f}\t{scored.score:.6f}"
                echo(json_.dumps(scored.to_json(), ensure_ascii=False) if json else line)
