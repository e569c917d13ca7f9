"""Documents that an ``input_file`` can hold, beside text, which goes out as text.

The API tells a file's type by the ending of its name, so a name without a known ending is given one.

Source: https://developers.openai.com/api/docs/guides/file-inputs, "Accepted file types", read on 2026-11-21.
"""

from __future__ import annotations

from headish.content.forms.limits import OFFICE
from headish.content.media import PDF

_ENDINGS = (
    (".doc", ".dot"), (".docx",), (".rtf",), (".odt",), (".ppt", ".pot", ".pps"), (".pptx",), (".xls", ".xlt"),
    (".xlsx",),
)  # fmt: skip

FILES: dict[str, tuple[str, ...]] = {PDF: (".pdf",), **dict(zip(OFFICE, _ENDINGS, strict=True))}
"""Media types, and how the names of such files end."""


def file_name(media_type: str, name: str | None) -> str:
    """A name that the API takes for a file of this type."""
    endings = FILES[media_type]
    if not name:
        return f"document{endings[0]}"
    return name if name.lower().endswith(endings) else f"{name}{endings[0]}"
