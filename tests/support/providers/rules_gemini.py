"""The rules of Gemini's ``generateContent`` as a check that knows nothing of the writer (PROVIDERS.md §4).

Used by the tests of gemini.
"""

from __future__ import annotations

import re
from base64 import b64decode
from itertools import pairwise
from typing import Any

KEYS = {"cachedContent", "contents", "generationConfig", "safetySettings", "systemInstruction", "toolConfig", "tools"}
DATA = ("text", "inlineData", "fileData", "functionCall", "functionResponse", "executableCode", "codeExecutionResult",
        "toolCall", "toolResponse")  # fmt: skip
MEDIA = {"image/png", "image/jpeg", "image/webp", "image/heic", "image/heif", "application/pdf"}
NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}")
BASE64 = re.compile(r"[A-Za-z0-9+/_-]+={0,2}")


def check_gemini(body: dict[str, Any]) -> None:
    """Assert what the API demands of a request."""
    assert body.keys() <= KEYS, "model and stream stand in the URL"
    contents = body["contents"]
    assert contents, "a request has a content"
    roles = [content["role"] for content in contents]
    assert set(roles) <= {"user", "model"}
    assert roles[0] == "user", "a model's turn follows a user's"
    assert all(one != other for one, other in pairwise(roles)), "roles alternate"
    for content in contents:
        assert content["parts"], "no empty content"
        for part in content["parts"]:
            _check_part(part, content["role"])
    _check_pairs(contents)
    for part in body.get("systemInstruction", {"parts": [{"text": "x"}]})["parts"]:
        assert part.keys() == {"text"}
        assert part["text"].strip()
    _check_tools(body.get("tools", []), body.get("toolConfig", {}))


def _check_part(part: dict[str, Any], role: str) -> None:
    count = sum(key in part for key in DATA)
    assert count == 1 or (count == 0 and role == "model"), "a part holds one piece of data, may be of a kind to come"
    if "thoughtSignature" in part:
        assert role == "model"
        assert BASE64.fullmatch(part["thoughtSignature"])
    if "text" in part:
        assert part["text"].strip() or "thoughtSignature" in part, "no blank text, but for its signature"
        assert not part.get("thought") or "thoughtSignature" in part, "a thought without a signature says nothing"
    if "inlineData" in part and role == "user":
        _check_media(part)
    if "functionCall" in part:
        assert role == "model", "a user calls nothing"
        assert part["functionCall"].keys() <= {"id", "name", "args"}
        assert isinstance(part["functionCall"]["args"], dict)
        assert NAME.fullmatch(part["functionCall"]["name"])
    if "functionResponse" in part:
        _check_result(part["functionResponse"])


def _check_media(part: dict[str, Any]) -> None:
    assert part.keys() == {"inlineData"}
    assert part["inlineData"].keys() == {"mimeType", "data"}
    assert part["inlineData"]["mimeType"] in MEDIA
    assert b64decode(part["inlineData"]["data"], validate=True)


def _check_result(result: dict[str, Any]) -> None:
    assert result.keys() <= {"id", "name", "response", "parts"}
    assert list(result["response"]) in (["output"], ["error"])
    assert all(isinstance(said, str) for said in result["response"].values())
    assert "parts" not in result or result["parts"]
    for part in result.get("parts", []):
        _check_media(part)


def _check_pairs(contents: list[dict[str, Any]]) -> None:
    seen: set[str] = set()
    for before, content in zip([None, *contents], contents, strict=False):
        calls = [] if before is None else [part["functionCall"] for part in before["parts"] if "functionCall" in part]
        results = [part["functionResponse"] for part in content["parts"] if "functionResponse" in part]
        assert [each["name"] for each in results] == [each["name"] for each in calls], "each call has its result"
        assert [each.get("id") for each in results] == [each.get("id") for each in calls], "under the same id"
        kinds = ["functionResponse" in part for part in content["parts"]]
        assert all(kinds[: len(results)]), "results come first"
        ids = [each["id"] for each in calls if "id" in each]
        assert len(set(ids)) == len(ids)
        assert not seen & set(ids)
        seen |= set(ids)
    assert not any("functionCall" in part for part in contents[-1]["parts"]), "the last call is answered too"


def _check_tools(tools: list[dict[str, Any]], config: dict[str, Any]) -> None:
    functions = [function for tool in tools for function in tool.get("functionDeclarations", [])]
    names = [function["name"] for function in functions]
    assert len(set(names)) == len(names) <= 512
    assert all(NAME.fullmatch(name) for name in names)
    assert all(function["parametersJsonSchema"]["type"] == "object" for function in functions)
    assert not config or tools
    mixed = bool(functions) and len(tools) > 1
    assert config.get("includeServerSideToolInvocations", False) is mixed, "functions beside a search want the flag"
    choice = config.get("functionCallingConfig", {"mode": "AUTO"})
    assert choice["mode"] in ("AUTO", "ANY", "NONE")
    assert set(choice.get("allowedFunctionNames", [])) <= set(names)
    assert "allowedFunctionNames" not in choice or choice["mode"] == "ANY"
