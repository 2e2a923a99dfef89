"""`dragoman average`, `merge`, `prune`, `quantize` and `shortlist`: write a changed copy of a model."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from dragoman.cli.console import echo, print_json, print_next, report_errors
from dragoman.cli.options.arguments import BundlePath, Json, SourceText, TargetText, argument, flag, number, option
from dragoman.cli.options.models import locate_bundle, locate_run
from dragoman.cli.options.outputs import Force, check_bundle_folder
from dragoman.run_files import BUNDLE

RunFolder = Annotated[Path, argument("RUN", "Folder of a run, or of its project.")]
Output = Annotated[Path, option("DIR", "Folder of the new bundle.", "--output", "-o")]
Last = Annotated[int, number("Number of checkpoints, the newest first.")]
AdapterFile = Annotated[
    Path, argument("ADAPTER", "adapter.safetensors of a run with [training.lora], or its run folder.")
]
Texts = Annotated[
    list[str] | None,
    option("FILE", "Text of the languages, one sentence per line, may be .gz; - is stdin. May be repeated.", "--text"),
]
Languages = Annotated[
    str | None, option("CODES", "Of a model with several directions, keep those between these: en,de.")
]
Scripts = Annotated[
    bool, flag("--scripts", "Keep the tokens in the scripts of the languages, too; the default without text.")
]
MinCount = Annotated[int, number("Least number of uses of a token that is kept.")]
Frequent = Annotated[int, number("Frequent target tokens in every shortlist.", least=0)]
PerToken = Annotated[int, number("Target tokens per source token.")]
Threads = Annotated[int | None, number("Number of threads.", default="all cores")]


def average(run: RunFolder, output: Output, last: Last = 3, force: Force = False) -> None:
    """Average the weights of a run's newest checkpoints into a bundle."""
    from dragoman.environment import require

    with report_errors():
        check_bundle_folder(output, force=force)
        require("torch", "train", "dragoman average")
        from dragoman.api.training.bundle_writer import average_checkpoints

        folder = locate_run(run)
        if not (folder / BUNDLE).is_dir():
            echo("note    the run is not finished: the newest checkpoints so far are averaged", err=True)
        bundle = average_checkpoints(folder, output, last=last)
    echo(f"bundle  {bundle.folder}")
    print_next(f"dragoman evaluate {shlex.quote(str(run))} {shlex.quote(str(output))}")


def merge(bundle: BundlePath, adapter: AdapterFile, output: Output, force: Force = False, json: Json = False) -> None:
    """Merge a LoRA adapter into the weights of the bundle it was trained from.

    The adapter names its base by the hash of the weights; another bundle is refused.
    """
    with report_errors("start it again"):
        check_bundle_folder(output, force=force)
        from dragoman.bundle import Bundle
        from dragoman.bundle.adapter import ADAPTER, Adapter, merge_adapter

        opened = Adapter.open(adapter / ADAPTER if adapter.is_dir() else adapter)
        merged = merge_adapter(Bundle.open(locate_bundle(bundle)), opened, output)
    facts = {"digest": merged.digest, "weights": len(opened.factors)}
    text = f"{len(opened.factors)} weights changed, rank {opened.rank}, alpha {opened.alpha:g}"
    _print(output, facts, text, json=json)


def prune(
    bundle: BundlePath,
    *,
    output: Output,
    text: Texts = None,
    scripts: Scripts = False,
    languages: Languages = None,
    min_count: MinCount = 1,
    force: Force = False,
    json: Json = False,
) -> None:
    """Copy a bundle without the tokens that some languages or text do not need.

    Single characters, bytes and special tokens are always kept, so that any text can still be translated.
    """
    with report_errors("start it again"):
        check_bundle_folder(output, force=force)
        from dragoman.api.files.input_lines import stream_lines
        from dragoman.api.pruning import prune_bundle
        from dragoman.bundle import Bundle

        found = prune_bundle(
            Bundle.open(locate_bundle(bundle)),
            (line for name in text or () for line in stream_lines(name)),
            output,
            languages=[code.strip() for code in languages.split(",") if code.strip()] if languages else (),
            min_count=min_count,
            keep_scripts=scripts or not text,
        )
    facts = {"lines": found.lines, "tokens": found.tokens, "bytes": found.bytes}
    shown = (
        f"{found.tokens[1]:,} of {found.tokens[0]:,} tokens, {found.lines:,} lines of text, "
        f"{found.bytes[1] / 1e6:,.1f} of {found.bytes[0] / 1e6:,.1f} MB"
    )
    _print(output, facts | {"parameters": found.bundle.parameter_count()}, shown, json=json)


def quantize(bundle: BundlePath, output: Output, force: Force = False, json: Json = False) -> None:
    """Copy a bundle with int8 weights: a quarter of the size.

    Translating uses int8 on ONNX Runtime by default, if the model has recurrent layers or an SSRU decoder.
    """
    with report_errors("start it again"):
        check_bundle_folder(output, force=force)
        from dragoman.bundle import Bundle
        from dragoman.bundle.bundle import quantize_bundle

        opened = Bundle.open(locate_bundle(bundle))
        written = quantize_bundle(opened, output)
    before, after = (sum(each["size"] for each in one.manifest["files"].values()) for one in (opened, written))
    facts = {"digest": written.digest, "bytes": [before, after]}
    _print(output, facts, f"{after / 1e6:,.1f} of {before / 1e6:,.1f} MB", json=json)


def shortlist(  # noqa: PLR0913 -- one parameter per option
    bundle: BundlePath,
    source: SourceText,
    target: TargetText = None,
    *,
    output: Output,
    frequent: Frequent = 100,
    per_token: PerToken = 50,
    threads: Threads = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Copy a bundle and add a lexical shortlist, for an SSRU decoder.

    The tokens that translate each source token are found by the attention of the model on sentence pairs.
    """
    with report_errors("start it again"):
        check_bundle_folder(output, force=force)
        from dragoman.api.alignment.shortlist_builder import add_shortlist, check_architecture
        from dragoman.api.files.parallel_lines import read_pairs
        from dragoman.bundle import Bundle

        opened = Bundle.open(locate_bundle(bundle))
        check_architecture(opened.config.model)
        found = add_shortlist(
            opened,
            read_pairs(source, target),
            output,
            frequent=frequent,
            per_token=per_token,
            threads=threads,
        )
    facts = {name: getattr(found, name) for name in ("pairs", "source_tokens", "mean_candidates", "covered")}
    text = (
        f"{found.pairs:,} pairs: {found.source_tokens:,} source tokens, {found.mean_candidates:,.0f} candidates per "
        f"sentence, {found.covered:.1%} of the target tokens covered"
    )
    _print(output, facts, text, json=json)


def _print(bundle: Path, facts: Mapping[str, Any], text: str, *, json: bool) -> None:
    """Print the written bundle, and what was changed."""
    if json:
        print_json({"folder": str(bundle), **facts})
        return
    echo(text)
    echo(f"bundle  {bundle}")
    print_next(f"dragoman translate {shlex.quote(str(bundle))}")
