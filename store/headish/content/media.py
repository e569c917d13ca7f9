"""Media: which type a document has, and what a document block holds.

A known extension of the name decides the type, otherwise the bytes do. puremagic judges the bytes and is imported only
then. The table of extensions is our own: the system's table differs between machines and Python's between versions,
and a digest depends on the type.
"""

from __future__ import annotations

import binascii
from base64 import b64decode

from headish.values.blocks import Base64Source, Document

IMAGES = ("image/jpeg", "image/png", "image/gif", "image/webp")
PDF = "application/pdf"
_TEXTS = ("application/json", "application/xml", "application/yaml", "application/toml", "application/x-ndjson")

_TYPES = {
    "application/json": ".json",
    "application/manifest+json": ".webmanifest",
    "application/msword": ".doc .dot .wiz",
    "application/n-quads": ".nq",
    "application/n-triples": ".nt",
    "application/octet-stream": ".a .bin .dll .exe .o .obj .so",
    "application/oda": ".oda",
    "application/pdf": ".pdf",
    "application/pkcs7-mime": ".p7c",
    "application/postscript": ".ai .eps .ps",
    "application/rtf": ".rtf",
    "application/trig": ".trig",
    "application/vnd.apple.mpegurl": ".m3u .m3u8",
    "application/vnd.ms-excel": ".xlb .xls",
    "application/vnd.ms-powerpoint": ".pot .ppa .pps .ppt .pwz",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": ".xlsx",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": ".docx",
    "application/wasm": ".wasm",
    "application/x-bcpio": ".bcpio",
    "application/x-cpio": ".cpio",
    "application/x-csh": ".csh",
    "application/x-dvi": ".dvi",
    "application/x-gtar": ".gtar",
    "application/x-hdf": ".hdf",
    "application/x-hdf5": ".h5",
    "application/x-latex": ".latex",
    "application/x-mif": ".mif",
    "application/x-netcdf": ".cdf .nc",
    "application/x-pkcs12": ".p12 .pfx",
    "application/x-pn-realaudio": ".ram",
    "application/x-python-code": ".pyc .pyo",
    "application/x-sh": ".sh",
    "application/x-shar": ".shar",
    "application/x-shockwave-flash": ".swf",
    "application/x-sv4cpio": ".sv4cpio",
    "application/x-sv4crc": ".sv4crc",
    "application/x-tar": ".tar .taz .tbz2 .tgz .txz .tz",
    "application/x-tcl": ".tcl",
    "application/x-tex": ".tex",
    "application/x-texinfo": ".texi .texinfo",
    "application/x-troff": ".roff .t .tr",
    "application/x-troff-man": ".man",
    "application/x-troff-me": ".me",
    "application/x-troff-ms": ".ms",
    "application/x-ustar": ".ustar",
    "application/x-wais-source": ".src",
    "application/xml": ".rdf .wsdl .xpdl .xsl",
    "application/zip": ".zip",
    "audio/3gpp": ".3gp .3gpp",
    "audio/3gpp2": ".3g2 .3gpp2",
    "audio/aac": ".aac .adts .ass .loas",
    "audio/basic": ".au .snd",
    "audio/mpeg": ".mp2 .mp3",
    "audio/opus": ".opus",
    "audio/x-aiff": ".aif .aifc .aiff",
    "audio/x-pn-realaudio": ".ra",
    "audio/x-wav": ".wav",
    "image/avif": ".avif",
    "image/bmp": ".bmp",
    "image/gif": ".gif",
    "image/heic": ".heic",
    "image/heif": ".heif",
    "image/ief": ".ief",
    "image/jpeg": ".jpe .jpeg .jpg",
    "image/png": ".png",
    "image/svg+xml": ".svg .svgz",
    "image/tiff": ".tif .tiff",
    "image/vnd.microsoft.icon": ".ico",
    "image/webp": ".webp",
    "image/x-cmu-raster": ".ras",
    "image/x-portable-anymap": ".pnm",
    "image/x-portable-bitmap": ".pbm",
    "image/x-portable-graymap": ".pgm",
    "image/x-portable-pixmap": ".ppm",
    "image/x-rgb": ".rgb",
    "image/x-xbitmap": ".xbm",
    "image/x-xpixmap": ".xpm",
    "image/x-xwindowdump": ".xwd",
    "message/rfc822": ".eml .mht .mhtml .nws",
    "text/css": ".css",
    "text/csv": ".csv",
    "text/html": ".htm .html",
    "text/javascript": ".js .mjs",
    "text/markdown": ".markdown .md",
    "text/n3": ".n3",
    "text/plain": ".bat .c .h .ksh .pl .srt .txt",
    "text/richtext": ".rtx",
    "text/tab-separated-values": ".tsv",
    "text/vtt": ".vtt",
    "text/x-python": ".py",
    "text/x-rst": ".rst",
    "text/x-setext": ".etx",
    "text/x-sgml": ".sgm .sgml",
    "text/x-vcard": ".vcf",
    "text/xml": ".xml",
    "video/mp4": ".mp4",
    "video/mpeg": ".m1v .mpa .mpe .mpeg .mpg",
    "video/quicktime": ".mov .qt",
    "video/webm": ".webm",
    "video/x-msvideo": ".avi",
    "video/x-sgi-movie": ".movie",
}
"""Media types, and the extensions of such files. A digest depends on the type: no row may change.

Source: Python 3.13's table of extensions, without the system's files; the type of ``.rtf`` is the one that OpenAI
documents; RFC 7763, RFC 4180, RFC 8259.
"""
EXTENSIONS = {extension: kind for kind, extensions in _TYPES.items() for extension in extensions.split()}

UNKNOWN = "application/octet-stream"
_SIGNATURES = {b"%PDF-": "application/pdf", b"\xff\xd8\xff": "image/jpeg"}
"""Beginnings that are certain, but so short that puremagic rates them as guesses."""

_SNIFFED_BYTES = 4096


def guess_media_type(data: bytes, name: str | None = None) -> str:
    """The media type of a document; ``application/octet-stream`` if neither name nor bytes show it."""
    from pathlib import PurePath  # late: most turns have no document

    return EXTENSIONS.get(PurePath(name or "").suffix.lower()) or _by_content(data)


class NotDecodable(ValueError):
    """The document's bytes are not what its source says; the message says why."""


def media_type_of(document: Document) -> str:
    """The media type without parameters, in lower case; empty if the source names none."""
    return _without_parameters(document.source.media_type or "")


def is_text(document: Document) -> bool:
    """Whether the document is text that a message can hold: ``text/*``, JSON, XML and the like."""
    return is_text_type(document.source.media_type or "")


def is_text_type(media_type: str) -> bool:
    """As ``is_text``, for a media type."""
    kind = _without_parameters(media_type)
    return kind.startswith("text/") or kind in _TEXTS or kind.endswith(("+json", "+xml"))


def decode_bytes(document: Document) -> bytes:
    """The document's bytes. Raises: NotDecodable if they are elsewhere, or ``data`` is not base64."""
    if not isinstance(document.source, Base64Source):
        raise NotDecodable("a document whose bytes are elsewhere")
    try:
        return b64decode(document.source.data, validate=True)
    except (binascii.Error, ValueError):
        raise NotDecodable("a document whose data is not base64") from None


def decode_text(document: Document) -> str:
    """The text of a text document, without a byte order mark. Raises: NotDecodable if it is not UTF-8."""
    try:
        return decode_bytes(document).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise NotDecodable(f"a {media_type_of(document)} document that is not UTF-8") from None


def _without_parameters(media_type: str) -> str:
    return media_type.partition(";")[0].strip().lower()


def _by_content(data: bytes) -> str:
    import puremagic  # late: few documents have a name without a known extension

    beginning = data[:_SNIFFED_BYTES]
    if not beginning:
        return "text/plain"
    signed = next((kind for signature, kind in _SIGNATURES.items() if beginning.startswith(signature)), None)
    if signed:
        return signed
    try:
        guesses = puremagic.magic_string(beginning)
    except (puremagic.PureError, ValueError):
        guesses = []
    # A guess below this would give text files the types of obscure binary formats.
    certain = [match.mime_type for match in guesses if match.mime_type and match.confidence >= 0.5]
    return certain[0] if certain else _text_or_unknown(beginning)


def _text_or_unknown(beginning: bytes) -> str:
    """Bytes that are UTF-8 without NUL are text; the sniffed part may end inside a character."""
    try:
        text = beginning.decode()
    except UnicodeDecodeError as error:
        # A character of UTF-8 has up to 4 bytes, so only the last 3 can be the beginning of one that was cut off.
        if error.start < len(beginning) - 3 or len(beginning) < _SNIFFED_BYTES:
            return UNKNOWN
        text = beginning[: error.start].decode()
    return UNKNOWN if "\x00" in text else "text/plain"
