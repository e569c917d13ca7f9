"""Values that are made once."""

from __future__ import annotations

from headish.values.forking import cached_property


class Page:
    def __init__(self, text: str) -> None:
        self.text, self.calls = text, 0

    @cached_property
    def words(self) -> list[str]:
        """The words of the page."""
        self.calls += 1
        return self.text.split()


def test_a_cached_property_is_computed_once_for_each_object() -> None:
    one, other = Page("a b"), Page("c")
    assert (one.words, other.words) == (["a", "b"], ["c"])
    assert one.words is one.words
    assert (one.calls, other.calls) == (1, 1)


def test_it_is_documented_on_the_class() -> None:
    assert Page.words.__doc__ == "The words of the page."
