"""What a message may hold to attack whoever reads it on a page: each payload sets off a canary if it works.

The canary is ``document.title = 'owned'``, or a request for ``/canary`` of the server that is named.
"""

from __future__ import annotations

from base64 import b64encode

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6364f8cf500f000386018059"
    "a3f76b0000000049454e44ae426082"
)
OWN = "document.title='owned'"
SVG = f"<svg xmlns='http://www.w3.org/2000/svg' onload=\"{OWN}\"><script>{OWN}</script></svg>"
HOSTILE = (
    f"<script>{OWN}</script>", f'<img src=x onerror="{OWN}">', "</style></title><h1>", f"<svg/onload={OWN}>",
    "<img src='{canary}'>", "![i]({canary})", "<iframe src='{canary}'></iframe>",
    "<link rel=stylesheet href={canary}>", f"[click](javascript:{OWN})", f"[click](JaVaScRiPt:{OWN})",
    f"[a]: javascript:{OWN}\n\n[a]", f"[d](data:text/html,<script>{OWN}</script>)",
    f"<data:text/html,<script>{OWN}</script>>", f"`<script>{OWN}</script>`", f"```html\n<script>{OWN}</script>\n```",
    f"~~~\"><script>{OWN}</script>\nx\n~~~", f"--></script><script>{OWN}</script>", "&lt;script&gt;",
    f"<details open ontoggle={OWN}>", "<base href='{canary}'>", "<meta http-equiv=refresh content='0;url={canary}'>",
    "<form action={canary}><button>", f"<a href=javascript:{OWN}>x", "\u202egnp.exe", "&#x202e;gnp.exe &rlm;&#8203;x",
    "a\u200bb\ufeffc\u2066d",
    "\x00\x1b[2J\x1b]0;owned\x07\x9b31m", "\U000e0041\U000e0042", "\ud7ff\ue000",
    f"{{{{7*7}}}}{{% for x in y %}}${{{OWN}}}", f"{SVG}", "<style>@import '{canary}';*{{display:none}}</style>",
    f"<math><mtext></form><form><mglyph><style></math><img src onerror={OWN}>",
    f"<noscript><p title=\"</noscript><img src=x onerror={OWN}>\">", f"<template><script>{OWN}</script></template>",
    f"<object data='data:text/html,<script>{OWN}</script>'></object>", "x" * 300_000, "[" * 20_000, "*a " * 5_000,
    "> " * 200 + "deep", "| a " * 2_000 + "\n" + "|---" * 2_000, "`" * 9_999,
)  # fmt: skip
"""Texts; ``{canary}`` stands for an address that must never be asked for."""


def texts(canary: str) -> list[str]:
    """The texts, with the address in them."""
    return [each.replace("{canary}", canary) for each in HOSTILE]


def documents() -> list[dict[str, object]]:
    """Documents that claim to be pictures or pages."""
    claims = [
        ("image/svg+xml", SVG),
        ("text/html", f"<script>{OWN}</script>"),
        ("image/png", SVG),
        ("text/html\r\nx: y", "x"),
    ]
    claims += [
        ("image/png;base64,<script>", "x"),
        ("application/pdf", "%PDF-"),
        ("image/gif", "GIF89a/*" + f"*/={OWN}"),
    ]
    return [
        {
            "type": "document",
            "name": f'"><script>{OWN}</script>/../{number}\u202egnp.exe',
            "source": {"type": "base64", "media_type": media_type, "data": b64encode(text.encode()).decode()},
        }
        for number, (media_type, text) in enumerate(claims)
    ]
