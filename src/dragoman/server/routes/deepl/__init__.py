"""Routes of the DeepL API: texts, languages, usage, documents and glossaries (versions 2 and 3)."""

from fastapi import APIRouter

from dragoman.server.pipeline.pipeline import TranslationPipeline
from dragoman.server.routes.deepl import documents, glossaries, text
from dragoman.server.routes.deepl.text import DEEPL


def routers(pipeline: TranslationPipeline) -> list[APIRouter]:
    """Return all routes of the DeepL API."""
    return [text.router(pipeline), documents.router(pipeline), *glossaries.routers(pipeline)]
