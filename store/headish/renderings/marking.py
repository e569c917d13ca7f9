"""Write a message's text as HTML that cannot run: Markdown without raw HTML and pictures, any other text escaped."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from markupsafe import escape

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_core import StateCore

# Characters that HTML does not allow: controls except tab and line breaks, and halves of surrogate pairs.
_REFUSED = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
# Invisible characters that reorder, hide or join text, and those that control a terminal. Joiners stay between letters
# of the scripts and emoji that need them, and so do the tags of a flag.
_UNSEEN = re.compile(
    "(?P<flag>\U0001f3f4[\U000e0020-\U000e007e]+\U000e007f)|[^\x00-\x7f][\u200c\u200d](?=[^\x00-\x7f])|"
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f\ud800-\udfff]"
)
# Up to the last place where a text may be cut: no match of ``_UNSEEN`` can cross it.
_SETTLED = re.compile("(?s:.*)(?:(?=[\x00-\x7f])|(?<![\u200c\u200d])(?=[^\u200c\u200d\U000e0020-\U000e007f]))")
_LINK = re.compile(r"(?:https?|mailto):", re.IGNORECASE)
_LANGUAGE = re.compile(r"[\w+#-]*")
"""The info of a fence that names only a language, or nothing."""
_FRAMES = ("bullet_list_open", "ordered_list_open", "table_open", "blockquote_open")
_CODE = ("code_inline", "code_block", "fence")


def clean(text: str) -> str:
    """Escape text for an element or a quoted attribute; characters that HTML does not allow become ``�``."""
    return str(escape(_REFUSED.sub("�", text)))


def write_markdown(text: str) -> str:
    """The HTML of a message's Markdown. None of the message's own tags or pictures comes through, and links lead only
    to the web or to mail."""
    rendered: str = _markdown().render(_REFUSED.sub("�", text))
    return rendered


def show_unseen(text: str) -> str:
    r"""The text with every character that has an effect but no shape written out: ``‹U+202E›``.

    These are controls, marks of direction, invisible spaces and joiners, tags and halves of surrogate pairs.
    """
    # Matches of several characters are the flags and joiners that stay.
    return _UNSEEN.sub(lambda found: found.group() if len(found.group()) > 1 else f"‹U+{ord(found.group()):04X}›", text)


def count_settled(text: str) -> int:
    """The number of leading characters that ``show_unseen`` shows the same, whatever text follows."""
    found = _SETTLED.match(text)
    return 0 if found is None else found.end()


@lru_cache(maxsize=1)
def _markdown() -> MarkdownIt:
    from markdown_it import MarkdownIt  # late: only a page needs it

    renderer = MarkdownIt("commonmark", {"html": False, "linkify": False}).enable(["table", "strikethrough"])
    # A page loads nothing, so a picture becomes a link.
    renderer.disable(["image", "html_block", "html_inline"])
    # markdown-it's own check refuses only javascript:, vbscript:, file: and most data: links.
    renderer.validateLink = lambda url: _LINK.match(url.strip()) is not None  # type: ignore[method-assign]
    renderer.add_render_rule("link_open", _open_link)
    renderer.add_render_rule("fence", _write_fence)
    renderer.core.ruler.push("directions", _set_directions)
    renderer.core.ruler.push("alignments", _align_cells)
    return renderer


def _set_directions(state: StateCore) -> None:
    """Give each outermost list, table and quotation the direction of its own first letter; the style sheets do so for
    each paragraph. Letters of code do not count: browsers pass over elements that have a direction."""
    for token in state.tokens:
        if token.level == 0 and token.type in _FRAMES:
            token.attrSet("dir", "auto")
        for each in (token, *(token.children or ())):
            if each.type in _CODE:
                each.attrSet("dir", "ltr")


def _align_cells(state: StateCore) -> None:
    """Say by a class how the cells of a table are aligned: the policy of a page allows no style of an element."""
    for token in state.tokens:
        style = token.attrs.pop("style", None)
        if style is not None:
            token.attrSet("class", str(style).removeprefix("text-align:"))


def _write_fence(self: Any, tokens: Any, index: int, options: Any, env: Any) -> str:
    """The HTML of a block of code, below its file's name if the fence says more than a language."""
    info = " ".join(tokens[index].info.split())
    label = "" if _LANGUAGE.fullmatch(info) else f'<p class="file">{escape(info)}</p>\n'
    return label + str(self.fence(tokens, index, options, env))


def _open_link(self: Any, tokens: Any, index: int, options: Any, env: Any) -> str:
    tokens[index].attrSet("rel", "noopener noreferrer nofollow")
    return str(self.renderToken(tokens, index, options, env))
