"""The page on narrow screens and on paper, with words, tables and names that are wide, and trees with many lines."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.chrome import look, needs_chromedriver
from support.looking import Looking

pytestmark = [pytest.mark.slow, needs_chromedriver, pytest.mark.xdist_group("browser")]


@pytest.fixture
def phone(looking: Looking) -> Iterator[Looking]:
    look(looking.driver, width=360, height=740)
    yield looking
    looking.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_words_in_a_table_of_many_columns_stay_whole_and_the_table_scrolls(phone: Looking) -> None:
    cells = [f"value{n}" for n in range(30)]
    rows = ("|".join(cells), "|".join("---" for _ in cells), "|".join([*cells[:-1], "w" * 3000]))
    phone.store.add_turn("\n".join(f"|{row}|" for row in rows), bookmark="table")
    phone.open("/c/table")
    lines = """
    return [...document.querySelectorAll(".text th, .text td")].map((cell) => {
      const range = document.createRange();
      range.selectNodeContents(cell);
      return range.getClientRects().length;
    });
    """
    counts = phone.driver.execute_script(lines)
    assert set(counts[:-1]) == {1}
    assert counts[-1] > 1, "one word does not make a table as wide as a hundred screens"
    assert phone.driver.execute_script("return document.documentElement.scrollWidth") == 360


def test_a_pointer_with_a_long_name_does_not_make_the_page_wider_than_the_screen(phone: Looking) -> None:
    name = "a-pointer-" + "x" * 80
    phone.store.pointers.set(name, "anthropic/small", base_url=phone.model.url)
    try:
        phone.open("/c/garden")
        assert phone.driver.execute_script("return document.documentElement.scrollWidth") == 360
    finally:
        phone.store.pointers.remove(name)


ROWS = """
const middle = (element) => {
  const { top, height } = element.getBoundingClientRect();
  return top + height / 2;
};
const dots = [...document.querySelectorAll(".tree circle")].map(middle);
const rows = [...document.querySelectorAll(".tree li")].map(middle);
return [dots.length, rows.length, Math.max(...rows.map((each, number) => Math.abs(each - dots[number])))];
"""
CUT = """
return [...document.querySelectorAll(".tree .name")].filter((each) => each.scrollWidth > each.clientWidth)
  .map((each) => each.textContent);
"""


def test_each_row_of_a_wide_tree_stands_beside_its_dot_with_its_name_whole(phone: Looking) -> None:
    question = phone.store.add_turn("Name a colour.", bookmark="colours").id
    for number in range(20):
        answer = f"Colour {number}, with more words than there is room for in a row."
        phone.store.add_turn(answer, role="assistant", continues=question, bookmark=f"colour/{number}")
        phone.store.add_turn("Why?", continues=f"colour/{number}")
    phone.open("/c/colour/3")
    assert phone.driver.execute_script(ROWS) == [21, 21, 0]
    assert phone.driver.execute_script(CUT) == []
    phone.driver.execute_script("document.documentElement.style.fontSize = '150%'")
    assert phone.driver.execute_script(ROWS)[2] < 1
    look(phone.driver, width=1280)
    assert phone.driver.execute_script(ROWS)[2] < 1


PLACES = """
return [...document.querySelectorAll("h1, article, #compose, .rail")]
  .map((each) => [each.className || each.id || each.nodeName, each.getBoundingClientRect().top]);
"""


def test_what_comes_later_for_a_reader_stands_lower_on_a_narrow_screen(phone: Looking) -> None:
    phone.open("/c/garden")
    places = phone.driver.execute_script(PLACES)
    assert [name for name, _ in places][-1] == "rail"
    assert places == sorted(places, key=lambda each: each[1])


def test_the_error_of_a_call_is_read_to_its_end(phone: Looking) -> None:
    phone.open("/calls")
    cut = "return [...document.querySelectorAll('main p')].some((each) => each.scrollHeight > each.clientHeight + 1)"
    assert "cannot be kept" in phone.text("main")
    assert phone.driver.execute_script(cut) is False


def test_no_button_touches_another_and_a_chosen_turn_keeps_the_colour_of_its_role(phone: Looking) -> None:
    touching = """
    for (const each of document.querySelectorAll("details")) each.open = true;
    const places = [...document.querySelectorAll("main button, main select, main label.check")]
      .map((each) => [each.textContent, each.getBoundingClientRect()]);
    const isNear = (one, other) => one.right > other.left && other.right > one.left
      && one.bottom > other.top - 4 && other.bottom > one.top - 4;
    return places.flatMap(([name, place], number) =>
      places.slice(number + 1).filter(([, other]) => isNear(place, other)).map(([other]) => `${name}|${other}`));
    """
    phone.open("/c/garden")
    assert phone.driver.execute_script(touching) == []
    stripe = f"return getComputedStyle(document.querySelector('#t{phone.talk.first}')).borderInlineStartColor"
    before = phone.driver.execute_script(stripe)
    phone.open(f"/c/garden?at={phone.talk.first}#t{phone.talk.first}")
    assert phone.driver.execute_script(stripe) == before


def test_paper_shows_dark_words_and_no_controls_in_any_theme(phone: Looking) -> None:
    words = "return getComputedStyle(document.body).color"
    try:
        phone.open("/theme?theme=dark&to=/c/garden")
        bright = phone.driver.execute_script(words)
        phone.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
        dark = phone.driver.execute_script(words)
        shown = (
            "return [...document.querySelectorAll('button, summary')].filter((each) => each.checkVisibility()).length"
        )
        assert phone.driver.execute_script(shown) == 0
        phone.open("/theme?theme=light&to=/c/garden")
        assert dark == phone.driver.execute_script(words) != bright
    finally:
        phone.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
        phone.open("/theme?theme=system&to=/")
