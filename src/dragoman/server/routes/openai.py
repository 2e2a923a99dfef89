"""Route `/v1/chat/completions` for tools that speak OpenAI's API: it translates the last user message.

Decision record 0020 gives the rules. The name of the model determines the languages; instructions are not followed.
"""

import secrets
import time
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool
from pydantic_core import to_json
from starlette.responses import Response

from dragoman.api.translation.multi_model.routing import Route
from dragoman.server.access.authorization import RequestAccess
from dragoman.server.errors import ErrorCode, RequestError
from dragoman.server.http.request_body import Access, Reserved, json_body, json_response
from dragoman.server.http.route_policy import Depends, Router, route_policy
from dragoman.server.http.server_sent_events import EVENT_STREAM, event_stream_response
from dragoman.server.pipeline.language_resolution import ResolvedText
from dragoman.server.pipeline.pipeline import TranslationPipeline
from dragoman.server.pipeline.request_checks import build_options
from dragoman.server.request_types import Dialect, TranslationRequest, TranslationResult
from dragoman.server.routes.openapi import BODY_ERRORS, EXAMPLE_SOURCE, EXAMPLE_TARGET, request_body, responses
from dragoman.server.scheduling.admission import Reservation

_SEPARATOR = ":"
_AUTO = "auto"


class ChatError(BaseModel):
    """What went wrong; `retry_after` is the number of seconds to wait before the request may succeed."""

    model_config = ConfigDict(extra="allow")

    message: str
    type: str = Field(examples=["invalid_request_error"])
    param: str | None
    code: ErrorCode
    retry_after: int | None = None


class ChatErrorResponse(BaseModel):
    """An error in the form of OpenAI's API, also as the last event of a stream."""

    error: ChatError


def _error_body(problem: Mapping[str, Any]) -> dict[str, Any]:
    status, more = problem["status"], {name: problem[name] for name in _MORE if name in problem}
    kind = "server_error" if status >= 500 else _ERROR_TYPES.get(status, "invalid_request_error")
    return {"error": {"message": problem["detail"], "type": kind, "param": None, "code": problem["code"], **more}}


_ERROR_TYPES = {403: "authentication_error", 404: "not_found_error", 429: "rate_limit_error"}
_MORE = ("retry_after", "request_id")
OPENAI = Dialect(
    "OpenAI", error_model=ChatErrorResponse, error_body=_error_body, error_type="application/json", error_event=""
)


class ChatPart(BaseModel):
    """A part of a message; only text is supported."""

    type: Literal["text"]
    text: str


class ChatMessage(BaseModel):
    """A message of a conversation."""

    model_config = ConfigDict(extra="ignore")

    role: Literal["system", "developer", "user", "assistant"]
    content: str | list[ChatPart] = Field(examples=[EXAMPLE_SOURCE])

    @property
    def text(self) -> str:
        return self.content if isinstance(self.content, str) else "".join(part.text for part in self.content)


class ChatRequest(BaseModel):
    """Body of `/v1/chat/completions`; other fields, such as `temperature`, have no effect."""

    model_config = ConfigDict(extra="ignore")

    model: str = Field(
        min_length=1,
        max_length=200,
        description="`SOURCE:TARGET`, `auto:TARGET`, or a model of `/v1/models`.",
        examples=["en:de"],
    )
    messages: list[ChatMessage] = Field(min_length=1, description="The last user message is translated.")
    stream: StrictBool | None = False
    n: Literal[1] | None = Field(None, description="Number of choices.")
    tools: None = Field(None, description="Not supported.")

    def to_request(self, pipeline: TranslationPipeline) -> TranslationRequest:
        """Convert to the request of the pipeline; raises `RequestError` if there is nothing to translate."""
        text = next((each.text for each in reversed(self.messages) if each.role == "user"), None)
        if text is None:
            raise RequestError("messages has none with the role user; send the text as that message")
        options = build_options(pipeline.settings)
        source, separator, target = self.model.partition(_SEPARATOR)
        if separator:
            return TranslationRequest([text], source, target, options=options, dialect=OPENAI)
        models = {each.name: each for each in pipeline.service.models()}
        if self.model not in models:
            raise RequestError(
                f"model must be SOURCE{_SEPARATOR}TARGET, such as en{_SEPARATOR}de, or one of "
                f"{', '.join(sorted(models))}, got {self.model[:40]!r}; /v1/models lists them",
                code="unknown_model",
            )
        found = models[self.model]
        if found.directions:
            raise RequestError(
                f"model must be SOURCE{_SEPARATOR}TARGET, such as {_SEPARATOR.join(found.directions[0])}, for a model "
                f"with several directions, got {self.model[:40]}; /v1/models lists them",
                code="unknown_model",
            )
        return TranslationRequest([text], found.source, found.target, self.model, options=options, dialect=OPENAI)


class ChatAnswer(BaseModel):
    """The translation as a message."""

    role: str
    content: str = Field(examples=[EXAMPLE_TARGET])


class ChatChoice(BaseModel):
    """The only choice; `finish_reason` is `length` if the translation was cut."""

    index: int
    message: ChatAnswer
    finish_reason: str


class ChatUsage(BaseModel):
    """Number of tokens of the model."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class ChatResponse(BaseModel):
    """A translation in the form of a chat completion."""

    id: str
    object: str
    created: int
    model: str
    choices: list[ChatChoice]
    usage: ChatUsage


ChatBody = Annotated[ChatRequest, Depends(json_body(ChatRequest))]


def chat_model_ids(routes: Iterable[Route]) -> list[str]:
    """Return the names of language pairs as models."""
    pairs = [(route.source, route.target) for route in routes]
    detected = [(_AUTO, target) for _, target in pairs]
    return list(dict.fromkeys(_SEPARATOR.join(pair) for pair in (*pairs, *detected)))


def router(pipeline: TranslationPipeline) -> Router:
    """Return the route of chat completions."""
    routes = Router(prefix="/v1", tags=[OPENAI.name])
    stream = {
        EVENT_STREAM: {
            "schema": {
                "type": "object",
                "required": ["data"],
                "properties": {"data": {"type": "string", "description": "JSON of a chunk; finally `[DONE]`."}},
            }
        }
    }

    @routes.post(
        "/chat/completions",
        **responses(ChatResponse, *BODY_ERRORS, 415, more=stream, dialect=OPENAI),
        **request_body(
            ChatRequest, text={"model": "en:de", "messages": [{"role": "user", "content": "Two dogs play."}]}
        ),
    )
    @route_policy("key", translates=True)
    async def complete(body: ChatBody, access: Access, reservation: Reserved) -> Response:
        """Translate the last user message. System messages and instructions are not followed."""
        wanted = body.to_request(pipeline)
        (text,) = await pipeline.check_and_resolve(wanted)
        head = {"id": f"chatcmpl-{secrets.token_hex(12)}", "created": int(time.time()), "model": body.model}
        if body.stream:
            chunks = _chunks(pipeline, text, wanted, access, reservation, head)
            return await event_stream_response(chunks, reservation, dialect=OPENAI)
        (result,) = await pipeline.translate_resolved([text], wanted, reservation)
        access.count(len(text.text))
        message = {"role": "assistant", "content": result.text}
        choice = {"index": 0, "message": message, "finish_reason": _finish_reason(result)}
        usage = _usage(result, reservation)
        return json_response({**head, "object": "chat.completion", "choices": [choice], "usage": usage})

    return routes


async def _chunks(
    pipeline: TranslationPipeline,
    text: ResolvedText,
    wanted: TranslationRequest,
    access: RequestAccess,
    reservation: Reservation,
    head: dict[str, Any],
) -> AsyncIterator[bytes]:
    """Yield the parts of a translation as chunks of a chat completion."""

    def chunk(delta: dict[str, str], finish_reason: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
        value = {**head, "object": "chat.completion.chunk", "choices": [choice]}
        return b"data: %b\n\n" % to_json(value)

    is_first = True
    async for part in pipeline.stream(text, wanted, reservation):
        if isinstance(part, str):
            yield chunk({"role": "assistant", "content": part} if is_first else {"content": part})
            is_first = False
        else:
            access.count(len(text.text))
            yield chunk({}, _finish_reason(part))
    yield b"data: [DONE]\n\n"


def _finish_reason(result: TranslationResult) -> str:
    return "length" if result.translation.is_truncated else "stop"


def _usage(result: TranslationResult, reservation: Reservation) -> dict[str, int]:
    written = len(result.translation.tokens)
    return {
        "prompt_tokens": reservation.tokens,
        "completion_tokens": written,
        "total_tokens": reservation.tokens + written,
    }
