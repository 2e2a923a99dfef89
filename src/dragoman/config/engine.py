"""Engine settings: the inference engine that runs a model, and its resources."""

from typing import Annotated, Literal, Self

from dragoman.config.base import Cli, Settings, Size

EngineName = Literal["auto", "torch", "ctranslate2", "onnx"]
PrecisionName = Literal["auto", "float32", "bfloat16", "int8"]
DeviceName = Literal["cpu", "cuda", "auto"]

_PANEL = "Engine"
_LANGUAGES = "Languages"


class EngineSettings(Settings):
    """How a model is run."""

    engine: Annotated[EngineName, Cli(_PANEL, default="fastest available")] = "auto"
    """Inference engine."""
    precision: Annotated[PrecisionName, Cli(_PANEL, default="float32, or int8 if the model is")] = "auto"
    """Number format of weights and activations."""
    device: Annotated[DeviceName, Cli(_PANEL)] = "cpu"
    """Device: the processor, a CUDA device, or a CUDA device if the engine finds one."""
    threads: Annotated[Size | None, Cli(_PANEL, default="OMP_NUM_THREADS, or all cores")] = None
    """Number of threads."""
    batch_tokens: Annotated[Size | None, Cli(_PANEL, default="chosen by the engine")] = None
    """Maximum number of source tokens per batch, padding included."""
    shortlist: Annotated[bool, Cli(_PANEL)] = True
    """Choose among the tokens of the model's lexical shortlist, if it has one and the engine is onnx."""
    source_language: Annotated[str | None, Cli(_LANGUAGES, metavar="LANG")] = None
    """Source language, for a model with several directions."""
    target_language: Annotated[str | None, Cli(_LANGUAGES, metavar="LANG")] = None
    """Target language, for a model with several directions."""

    def reversed(self) -> Self:
        """Return the settings of the opposite direction."""
        return self.model_copy(
            update={"source_language": self.target_language, "target_language": self.source_language}
        )
