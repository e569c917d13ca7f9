"""The page of rules, and whoever cites it: a citation names a rule that the page defines, and a link finds its heading.

A citation is a rule's number where people read: in a comment, a docstring or the prose of a page. Numbers in code, in
values and in what a page shows as code are something else, and so are ``R2-D2``, ``CR2`` and ``DeepSeek-R1``.
"""

from __future__ import annotations

import ast
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/reference/rules.md"
PAGES = [*ROOT.glob("*.md"), *sorted((ROOT / "docs").rglob("*.md"))]
FOLDERS = ("store", "cli", "migrations", "tests", "docs")
CODE = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))

_NUMBER = r"(?<![\w.-])(?P<number>I[1-9]|R[1-9][0-9]?)(?![\w-])"
_CITED = re.compile(_NUMBER)
_NAMED = re.compile(rf"[Rr]ule\s+{_NUMBER},\s+(?P<words>[^().:;]+)")
_HEADING = re.compile(r"^#{2,} (.+)$", re.M)
_RULE = re.compile(r"^### (?P<title>.+) \((?P<number>[IR]\d+)\)$", re.M)
_ROW = re.compile(r"^\| (?P<number>[IR]\d+) \| \[(?P<title>.+)\]\(#(?P<anchor>.+)\) \| (?P<words>.+) \|$", re.M)
_LINK = re.compile(r"\]\((?P<page>[^)#\s]*)#(?P<anchor>[^)\s]+)\)")
_SHOWN = re.compile(r"^```.*?^```$|``.+?``|`[^`\n]+`", re.M | re.S)


class Prose(NamedTuple):
    """Text that people read, and the line that it begins in."""

    line: int
    text: str


class Citation(NamedTuple):
    """Where a rule is cited, its number, and the words behind that; there may be none."""

    path: Path
    line: int
    number: str
    words: str


def prose_of(path: Path) -> Iterator[Prose]:
    source = path.read_text("utf-8")
    if _CITED.search(source) is None:
        return  # as in most files; the rest takes time
    if path.suffix == ".md":
        yield Prose(1, without_code(source))
        return
    yield from comments(path)
    for node in ast.walk(ast.parse(source)):
        # Docstrings, and the strings that stand behind an assignment.
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield Prose(node.lineno, without_code(node.value.value))


def comments(path: Path) -> Iterator[Prose]:
    """The comments of a module; those of lines behind one another are one text."""
    block: list[str] = []
    last = 0
    with path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            if token.type == tokenize.COMMENT:
                if block and token.start[0] != last + 1:
                    yield Prose(last - len(block) + 1, "\n".join(block))
                    block = []
                last = token.start[0]
                block.append(token.string.lstrip("#"))
    if block:
        yield Prose(last - len(block) + 1, "\n".join(block))


def without_code(text: str) -> str:
    """The text with blanks for what it shows as code; its lines stay where they are."""
    return _SHOWN.sub(lambda shown: re.sub(r"[^\n]", " ", shown[0]), text)


def citations(path: Path, prose: Prose) -> Iterator[Citation]:
    words = {found.start("number"): " ".join(found["words"].split()) for found in _NAMED.finditer(prose.text)}
    for found in _CITED.finditer(prose.text):
        line = prose.line + prose.text.count("\n", 0, found.start())
        yield Citation(path, line, found["number"], words.get(found.start("number"), ""))


def cited(text: str) -> list[str]:
    """The numbers of the rules that a text cites."""
    return [each.number for each in citations(PAGE, Prose(1, text))]


def links_to_rules(path: Path) -> Iterator[re.Match[str]]:
    """The links of a page that lead to a heading of the rules."""
    for found in _LINK.finditer(path.read_text("utf-8")):
        if (path.parent / found["page"]).resolve() == PAGE or (path == PAGE and not found["page"]):
            yield found


def told(path: Path, line: int, what: str) -> str:
    """A finding as a failure shows it."""
    return f"{path.relative_to(ROOT)}:{line}: {what}"


def anchor_of(title: str) -> str:
    """The anchor that a heading gets on GitHub: no punctuation, and a hyphen for each blank."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def rules() -> dict[str, str]:
    """Each rule of the page, and the words that it is cited with."""
    return {row["number"]: row["words"] for row in _ROW.finditer(PAGE.read_text("utf-8"))}


class TestThePage:
    def test_the_table_and_the_headings_say_the_same(self) -> None:
        page = PAGE.read_text("utf-8")
        headings = {found["number"]: found["title"] for found in _RULE.finditer(page)}
        rows = [(row["number"], row["title"], row["anchor"]) for row in _ROW.finditer(page)]
        assert len(_RULE.findall(page)) == len(headings)
        assert {number: title for number, title, _ in rows} == headings
        for number, title, anchor in rows:
            assert anchor == anchor_of(f"{title} ({number})")

    def test_rules_are_listed_in_the_order_of_their_numbers(self) -> None:
        numbers = list(rules())
        assert numbers == sorted(numbers, key=lambda number: (number[0], int(number[1:])))

    def test_no_two_rules_are_cited_with_the_same_words(self) -> None:
        assert len(set(rules().values())) == len(rules())

    def test_every_rule_says_why_and_where_it_holds(self) -> None:
        for text in re.split(r"^### ", PAGE.read_text("utf-8"), flags=re.M)[1:]:
            assert len(re.findall(r"^Why: ", text, re.M)) == 1, text
            assert len(re.findall(r"^Holds in: ", text, re.M)) == 1, text

    def test_a_rule_holds_in_modules_that_are_there(self) -> None:
        for line in re.findall(r"^Holds in: (.+)$", PAGE.read_text("utf-8"), re.M):
            for name in re.findall(r"`([^`]+)`", line):
                places = (ROOT / "store/headish" / f"{name}.py", ROOT / "store/headish" / name, ROOT / name)
                assert any(place.exists() for place in places), name


@pytest.fixture(scope="module")
def found() -> list[Citation]:
    """Every citation of the repository."""
    return [each for path in (*PAGES, *CODE) for prose in prose_of(path) for each in citations(path, prose)]


class TestWhoCitesIt:
    def test_a_citation_names_a_rule_of_the_page(self, found: list[Citation]) -> None:
        known = rules()
        assert {"I7", "R2"} <= {each.number for each in found}
        assert [told(each.path, each.line, each.number) for each in found if each.number not in known] == []

    def test_one_that_has_words_has_those_of_the_page(self, found: list[Citation]) -> None:
        known = rules()
        odd = [
            told(path, line, f"rule {number}, {words}")
            for path, line, number, words in found
            if words and not f"{words},".startswith(f"{known.get(number)},")
        ]
        assert odd == []

    def test_a_link_finds_its_heading(self) -> None:
        anchors = {anchor_of(heading) for heading in _HEADING.findall(PAGE.read_text("utf-8"))}
        links = [(path, found["anchor"]) for path in PAGES for found in links_to_rules(path)]
        assert len(links) > len(rules())
        assert [told(path, 0, anchor) for path, anchor in links if anchor not in anchors] == []


class TestHowCitationsAreFound:
    @pytest.mark.parametrize(
        ("text", "numbers"),
        [
            ("each once, parents before children (I7)", ["I7"]),
            ("only its new tail is stored (I4, R4).", ["I4", "R4"]),
            ("the order of a walk (rule I7), computed", ["I7"]),
            ("merged in walk order (rule I8, options merge)", ["I8"]),
            ("R12.", ["R12"]),
            ("R19's list of breaks", ["R19"]),
            ("what I2 to I4 promise", ["I2", "I4"]),
        ],
    )
    def test_in_all_the_ways_that_they_are_written(self, text: str, numbers: list[str]) -> None:
        assert cited(text) == numbers

    @pytest.mark.parametrize("text", ["R2-D2", "DeepSeek-R1", "CR2", "R2x", "F14", "2.2 §8.2", "I10", "R100", "v.R1"])
    def test_and_in_nothing_else(self, text: str) -> None:
        assert cited(text) == []

    @pytest.mark.parametrize("text", ["`R2`", "``R2``", "```text\nR2\n```"])
    def test_what_is_shown_as_code_is_no_citation(self, text: str) -> None:
        assert cited(without_code(f"as\n{text}\nsays")) == []

    def test_words_behind_a_number_may_go_on_in_the_next_line(self) -> None:
        text = "computed\n(rule I7, parents\nfirst; rule R10, record layout, names it) and R2."
        assert [each[1:] for each in citations(PAGE, Prose(8, text))] == [
            (9, "I7", "parents first"), (10, "R10", "record layout, names it"), (10, "R2", ""),
        ]  # fmt: skip

    def test_comments_and_docstrings_are_read_and_values_are_not(self, tmp_path: Path) -> None:
        module = tmp_path / "module.py"
        module.write_text('"""I1."""\n\nx = "I2"  # I3\n# R4\n"""I5."""\nR6 = f"{x} I7"\n', "utf-8")
        assert sorted((number, prose.line) for prose in prose_of(module) for number in cited(prose.text)) == [
            ("I1", 1), ("I3", 3), ("I5", 5), ("R4", 3),
        ]  # fmt: skip
