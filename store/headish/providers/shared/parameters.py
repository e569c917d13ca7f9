"""The option ``params``: one name for each parameter, and each provider's own name for it.

A parameter that a provider has no place for is refused, never dropped silently. A provider's further parameters are
set under its name (``params.gemini.safetySettings``) and go to no other; those of ``NATIVE`` may also be set beside the
common ones.

Sources: the types of the official SDKs, anthropic 2.12.0, openai 3.54.0, google-genai 3.4.0, cohere 7.3.1 and
cerebras-cloud-sdk 1.91.0, read on 2026-11-21.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from headish.content.inherited import merge
from headish.providers.shared.schemas import strict_problem
from headish.providers.shared.tools import Reporter

Body = dict[str, Any]


class ParameterKind(NamedTuple):
    """The kind of value that a parameter takes: in words, and as a check."""

    words: str
    fits: Callable[[Any], bool]


class Parameter(NamedTuple):
    """A common parameter. ``places`` says where each provider takes it: a path in the body, or a function from the
    value to a part of the body."""

    kind: ParameterKind
    places: Mapping[str, str | Callable[[Any], Body]]
    needs_tools: bool = False


def place_parameters(
    report: Reporter, provider: str, params: Mapping[str, Any], *, has_tools: bool, places: Mapping[str, str] = {}
) -> Body:
    """The part of a body that the parameters make; ``null`` is a parameter that is not set. ``places`` overrides the
    places of the table."""
    placed: Body = {}
    for name, value in params.items():
        if value is None or name == "model":
            continue
        part = _place(report, provider, name, value, has_tools, places.get(name))
        placed = merge(placed, part) if part else placed
    own = params.get(provider)
    # Last, so that what a person set for this provider wins over the common parameters.
    return merge(placed, own) if isinstance(own, Mapping) and not _reserved(report, provider, own) else placed


def read_params(report: Reporter, options: Mapping[str, Any]) -> Mapping[str, Any]:
    """The option ``params``, with a refusal unless it is an object whose ``model`` is text."""
    params = options.get("params")
    if params is None:
        return {}
    if not isinstance(params, Mapping):
        report.refuse(f"the option params={params!r}: it is an object")
        return {}
    if params.get("model") is not None and not isinstance(params["model"], str):
        report.refuse(f"params.model={params['model']!r}: it is the name of a model")
        return {**params, "model": None}
    return params


def _place(report: Reporter, provider: str, name: str, value: Any, has_tools: bool, elsewhere: str | None) -> Body:
    parameter = PARAMETERS.get(name)
    if parameter is not None:
        place = parameter.places.get(provider) if elsewhere is None else elsewhere
        return _place_common(report, name, value, parameter, place, has_tools)
    if name in NATIVE:
        if not isinstance(value, Mapping):
            report.refuse(f"params.{name}={value!r}: what is {name}'s own is an object")
        return {}
    if name in NATIVE[provider]:
        return _at(NATIVE[provider][name], value)
    makers = [maker for maker, names in NATIVE.items() if name in names]
    if makers:
        report.refuse(f"params.{name}, which is {makers[0]}'s: set params.{makers[0]}.{name}, which only it gets")
    else:
        report.note(f"the option params.{name} is not sent")
    return {}


def _place_common(
    report: Reporter,
    name: str,
    value: Any,
    parameter: Parameter,
    place: str | Callable[[Any], Body] | None,
    has_tools: bool,
) -> Body:
    if not parameter.kind.fits(value):
        report.refuse(f"params.{name}={value!r}: it is {parameter.kind.words}")
    elif place is None:
        report.refuse(f"params.{name}: its requests have no such parameter")
    elif parameter.needs_tools and not has_tools:
        report.note(f"the option params.{name} is not sent: there are no tools")
    else:
        return place(value) if callable(place) else _at(place, value)
    return {}


def _reserved(report: Reporter, provider: str, own: Mapping[str, Any]) -> bool:
    reserved = sorted(RESERVED & own.keys())
    if reserved:
        report.refuse(f"params.{provider}.{reserved[0]}: that is what the thread says")
    return bool(reserved)


def _at(path: str, value: Any) -> Body:
    for key in reversed(path.split(".")):
        value = {key: value}
    return dict(value)


def _is_number(value: Any) -> bool:
    # In Python a bool is an int; in JSON true is not a number.
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_texts(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(each, str) for each in value)


def _gemini_level(effort: Any) -> Body:
    return {"generationConfig": {"thinkingConfig": {"thinkingLevel": effort.upper()}}}


def _named(schema: Mapping[str, Any]) -> Body:
    """A schema with the name that OpenAI requires; ``strict`` if the API can enforce it."""
    title = schema.get("title")
    legal = isinstance(title, str) and title.isascii() and title.replace("_", "").isalnum() and len(title) <= 64
    strict = strict_problem(schema) is None
    return {"name": title if legal else "answer", "schema": dict(schema), "strict": strict}


def _openai_schema(schema: Any) -> Body:
    return {"response_format": {"type": "json_schema", "json_schema": _named(schema)}}


NUMBER = ParameterKind("a number", _is_number)
WHOLE = ParameterKind("a whole number", _is_whole)
COUNT = ParameterKind("a number of tokens", lambda value: _is_whole(value) and value > 0)
TEXT = ParameterKind("text", lambda value: isinstance(value, str) and bool(value))
TEXTS = ParameterKind("a list of texts", _is_texts)
SWITCH = ParameterKind("true or false", lambda value: isinstance(value, bool))
OBJECT = ParameterKind("a JSON schema", lambda value: isinstance(value, Mapping))

PARAMETERS: dict[str, Parameter] = {
    "max_tokens": Parameter(COUNT, {
        "anthropic": "max_tokens", "openai": "max_completion_tokens", "openai_responses": "max_output_tokens",
        "gemini": "generationConfig.maxOutputTokens", "cohere": "max_tokens", "cerebras": "max_completion_tokens",
    }),
    "temperature": Parameter(NUMBER, {
        "openai": "temperature", "openai_responses": "temperature", "gemini": "generationConfig.temperature",
        "cohere": "temperature", "cerebras": "temperature",
    }),
    "top_p": Parameter(NUMBER, {
        "openai": "top_p", "openai_responses": "top_p", "gemini": "generationConfig.topP", "cohere": "p",
        "cerebras": "top_p",
    }),
    "top_k": Parameter(WHOLE, {"gemini": "generationConfig.topK", "cohere": "k"}),
    "seed": Parameter(WHOLE, {
        "openai": "seed", "gemini": "generationConfig.seed", "cohere": "seed", "cerebras": "seed",
    }),
    "frequency_penalty": Parameter(NUMBER, {
        "openai": "frequency_penalty", "gemini": "generationConfig.frequencyPenalty", "cohere": "frequency_penalty",
        "cerebras": "frequency_penalty",
    }),
    "presence_penalty": Parameter(NUMBER, {
        "openai": "presence_penalty", "gemini": "generationConfig.presencePenalty", "cohere": "presence_penalty",
        "cerebras": "presence_penalty",
    }),
    "stop_sequences": Parameter(TEXTS, {
        "anthropic": "stop_sequences", "openai": "stop", "gemini": "generationConfig.stopSequences",
        "cohere": "stop_sequences", "cerebras": "stop",
    }),
    "effort": Parameter(TEXT, {
        "anthropic": "output_config.effort", "openai": "reasoning_effort", "openai_responses": "reasoning.effort",
        "gemini": _gemini_level, "cerebras": "reasoning_effort",
    }),
    "schema": Parameter(OBJECT, {
        "anthropic": lambda schema: {"output_config": {"format": {"type": "json_schema", "schema": dict(schema)}}},
        "openai": _openai_schema,
        "openai_responses": lambda schema: {"text": {"format": {"type": "json_schema", **_named(schema)}}},
        "gemini": lambda schema: {
            "generationConfig": {"responseMimeType": "application/json", "responseJsonSchema": dict(schema)}},
        "cohere": lambda schema: {"response_format": {"type": "json_object", "json_schema": dict(schema)}},
        "cerebras": _openai_schema,
    }),
    "strict": Parameter(SWITCH, {
        # They take it at each tool, where the writer sets it.
        **dict.fromkeys(("anthropic", "openai", "openai_responses", "cerebras"), lambda value: {}),
        "cohere": "strict_tools",
    }, needs_tools=True),
    "parallel_tool_calls": Parameter(SWITCH, {
        "anthropic": lambda value: {"tool_choice": {"type": "auto", "disable_parallel_tool_use": not value}},
        "openai": "parallel_tool_calls", "openai_responses": "parallel_tool_calls", "cerebras": "parallel_tool_calls",
    }, needs_tools=True),
}  # fmt: skip
"""The common parameters. A provider without a place has no such parameter. Anthropic refuses sampling parameters."""

_RESPONSES = (
    "continue_stored", "include", "max_tool_calls", "metadata", "prompt_cache_key", "prompt_cache_options", "reasoning",
    "safety_identifier", "service_tier", "store", "text", "top_logprobs", "truncation",
)  # fmt: skip
_CHAT = (
    "logit_bias", "logprobs", "metadata", "modalities", "prediction", "prompt_cache_key", "prompt_cache_options",
    "reasoning_effort", "response_format", "safety_identifier", "service_tier", "store", "top_logprobs", "verbosity",
)  # fmt: skip
_GENERATION = (
    "imageConfig", "logprobs", "mediaResolution", "responseFormat", "responseJsonSchema", "responseLogprobs",
    "responseMimeType", "responseModalities", "responseSchema", "speechConfig", "thinkingConfig",
)  # fmt: skip
NATIVE: dict[str, dict[str, str]] = {
    "anthropic": {name: name for name in ("cache_ttl", "citations", "container", "context_management",
                                        "mcp_servers", "metadata", "output_config", "service_tier", "thinking")},
    "openai": {name: name for name in _CHAT},
    "openai_responses": {name: name for name in _RESPONSES},
    "gemini": {name: f"generationConfig.{name}" for name in _GENERATION}
    | {name: name for name in ("cachedContent", "continuationToken", "generationConfig", "labels", "safetySettings",
                               "serviceTier")},
    "cohere": {
        name: name
        for name in ("citation_options", "documents", "logprobs", "priority", "response_format", "safety_mode",
                     "strict_tools", "thinking")
    },
    "cerebras": {
        name: name
        for name in ("clear_thinking", "disable_reasoning", "logit_bias", "logprobs", "min_completion_tokens",
                     "model_parameters", "prediction", "prompt_cache_key", "reasoning_effort", "reasoning_format",
                     "response_format", "service_tier", "top_logprobs")
    },
}  # fmt: skip
"""Parameters that only some providers have, by their own names, and their places in the body."""

RESERVED = frozenset(
    ("contents", "conversation", "input", "instructions", "messages", "model", "previous_response_id", "stream",
     "system", "systemInstruction")
)  # fmt: skip
"""Keys of a body that a parameter may not set: the thread and the call decide them."""
