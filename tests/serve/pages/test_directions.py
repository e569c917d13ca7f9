"""Words that read from right to left, alone and among others, as a browser draws them."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.chrome import needs_chromedriver
from support.looking import Looking

pytestmark = [pytest.mark.slow, needs_chromedriver, pytest.mark.xdist_group("browser")]

STARTS = """
return [...document.querySelectorAll(arguments[0])].map((element) => {
  const walk = document.createTreeWalker(element, NodeFilter.SHOW_TEXT), nodes = [];
  while (walk.nextNode()) if (walk.currentNode.data.trim()) nodes.push(walk.currentNode);
  const left = (node, at) => {
    const range = document.createRange();
    range.setStart(node, at);
    range.setEnd(node, at + 1);
    return range.getBoundingClientRect().left;
  };
  const last = nodes.at(-1), end = last.data.trimEnd().length - 1;
  return left(nodes[0], nodes[0].data.search(/\\S/)) > left(last, end) ? "right" : "left";
});
"""
"""On which side the text of each element begins: at the right if its first character is drawn right of its last."""

MIXED = """```python
f(x)
```

קובץ קצר!

1. ראשון.
2. second.

Short answer.

`x` הוא משתנה!

| שם | value |
|---|---|
| אחד! | two. |

> ציטוט.
"""


def sides(looking: Looking, selector: str) -> list[str]:
    return list(looking.driver.execute_script(STARTS, selector))


def test_each_paragraph_of_a_message_begins_on_the_side_of_its_own_script(looking: Looking) -> None:
    looking.store.add_turn(MIXED, bookmark="mixed")
    looking.open("/c/mixed")
    assert sides(looking, ".text > p:not(:has(code))") == ["right", "left"]
    assert sides(looking, ".text li") == ["right", "left"]
    assert sides(looking, ".text td") == ["right", "left"]
    assert sides(looking, ".text blockquote p") == ["right"]
    assert sides(looking, ".text pre code") == ["left"]
    frames = (
        "return ['ol', 'table', 'blockquote'].map(at => document.querySelector('.text ' + at).matches(':dir(rtl)'))"
    )
    assert looking.driver.execute_script(frames) == [True, True, True]
    order = "const [a, b] = document.querySelectorAll('.text th'); return a.offsetLeft > b.offsetLeft"
    assert looking.driver.execute_script(order), "the first column is the rightmost"
    drawn = "const p = document.querySelector('.text > p:has(code)'), c = p.firstElementChild.getBoundingClientRect();"
    assert looking.driver.execute_script(f"{drawn} return p.getBoundingClientRect().right - c.right < 2")


def test_items_and_cells_begin_at_the_marks_of_their_list_and_columns_are_aligned_as_they_say(looking: Looking) -> None:
    table = "| שם | a | b | c |\n|---|:---|:---:|---:|\n| one | א | two | ב |"
    looking.store.add_turn(f"1. ראשון\n2. second\n\nAnd\n\n- first\n- שני\n\n{table}", bookmark="aligned")
    looking.open("/c/aligned")
    aligned = "return [...document.querySelectorAll(arguments[0])].map((each) => getComputedStyle(each).textAlign)"
    items, cells = (looking.driver.execute_script(aligned, f".text {each}") for each in ("li", "td"))
    assert items == ["right", "right", "left", "left"]
    assert cells == ["right", "left", "center", "right"]
    assert looking.reports() == []


def test_each_line_of_a_comparison_begins_on_the_side_of_its_own_script(looking: Looking) -> None:
    looking.store.add_turn("The answer:\n\nרשימה קצרה!", bookmark="one-side")
    looking.store.add_turn("The answer:\n\nרשימה ארוכה!", bookmark="other-side")
    looking.open("/diff/one-side..other-side?view=side")
    script = """
    const words = document.querySelector(".words"), box = words.getBoundingClientRect();
    const range = document.createRange();
    range.selectNodeContents(words);
    const rows = [...range.getClientRects()], top = rows[0].top;
    const ends = rows.filter((each) => each.top > top + 20).map((each) => each.right);
    return [Math.round(rows[0].left - box.left), Math.round(box.right - Math.max(...ends))];
    """
    assert looking.driver.execute_script(script) == [0, 0]


def test_each_field_takes_the_direction_of_what_is_typed(looking: Looking) -> None:
    turn = looking.talk.first
    seen = {}
    for path in ("/", "/new", "/c/garden", f"/t/{turn}/change?name=garden", "/diff", f"/erase/{turn}"):
        looking.open(path)
        script = """
        const all = document.querySelectorAll("textarea, input:is([type=search], :not([type], [name=handle]))");
        for (const each of all) each.value = "שלום!";
        return [...all].filter((each) => !each.matches(":dir(rtl)")).map((each) => each.name);
        """
        seen[path] = looking.driver.execute_script(script)
    assert {path: names for path, names in seen.items() if names} == {}


def test_titles_begin_on_their_own_side_and_words_in_a_sentence_keep_their_order(looking: Looking) -> None:
    turn = looking.store.add_turn("ענה בקצרה!", role="system", bookmark="ours").id
    looking.store.add_turn("מה שלומך?", continues=turn, bookmark="ours")
    right = "return innerWidth / 2 < document.querySelector(arguments[0]).getBoundingClientRect().left"
    looking.open("/?names=ours")
    assert looking.driver.execute_script(right, ".conversations h2 a")
    looking.open("/?q=שלומך")
    assert looking.driver.execute_script(right, ".hits h2 a")
    looking.open("/c/ours")
    assert sides(looking, ".prompt summary bdi") == ["right"]
    looking.open("/?q=אין!")
    assert sides(looking, ".empty q bdi") == ["right"]
    looking.open("/?tag=אין!&model=x%E2%80%AEy")
    assert sides(looking, ".filters summary bdi") == ["right", "left"]
    assert looking.text(".filters summary") == "Filter: tag אין!, model x‹U+202E›y"
    looking.open(f"/erase/{turn}")
    assert sides(looking, ".plain bdi") == ["right"]


def test_names_beside_each_other_in_a_page_that_is_one_file_keep_their_order(looking: Looking, tmp_path: Path) -> None:
    turn = looking.store.add_turn("?", bookmark="ראשון")
    looking.store.bookmarks.set("שני", turn.id)
    (tmp_path / "page.html").write_text(looking.store.render("שני", branches=True), "utf-8")
    looking.driver.get((tmp_path / "page.html").as_uri())
    names = looking.driver.find_elements("css selector", ".name")
    assert [each.text for each in sorted(names, key=lambda each: each.rect["x"])] == [each.text for each in names]
    assert len(names) == 2
