"""Routes of the DeepL API: texts, languages, usage, documents, glossaries (versions 2 and 3) and memories."""

from dragoman.server.http.route_policy import Router
from dragoman.server.pipeline.pipeline import TranslationPipeline
from dragoman.server.routes.deepl import documents, glossaries, memories, text
from dragoman.server.routes.deepl.text import DEEPL


def routers(pipeline: TranslationPipeline) -> list[Router]:
    """Return all routes of the DeepL API."""
    of_memories = [memories.job_router(pipeline), memories.router(pipeline)]
    return [text.router(pipeline), documents.router(pipeline), *glossaries.routers(pipeline), *of_memories]
