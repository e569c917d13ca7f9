"""Words and questions: the same text gives the same words everywhere, and nothing is no question."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headish.content.searching.questions import All, Any, Phrase, Without, parse_question, phrases_of
from headish.content.searching.snippets import SNIPPET_CHARACTERS, snippet_of
from headish.content.searching.texts import SearchedText, matches
from headish.content.searching.words import (
    WORD_CHARACTERS,
    _words_of_run,
    portions_of,
    signed_words,
    spans_of,
    words_of,
)
from headish.errors import InvalidArgument
from headish.values.limits import QUESTION_LIMIT, QUESTION_WORDS_LIMIT

PLAIN_TEXT = st.text(
    st.one_of(
        st.characters(exclude_categories=["Cs"]),
        st.sampled_from(" _-.'\"()*abcABCéßİ天気予報カ한국สวัสดีнет½⑴\u0301\u200d"),
    ),
    max_size=60,
)
STEERING = st.sampled_from(
    ("\x1b", "\x1b[31m", "\x1b[K", "\x1b[2J", "\x1b]8;;", "\x1b(B", "\x1b[", "m", "8", "a", "Ж", "天")
)
ANY_TEXT = st.one_of(PLAIN_TEXT, st.lists(STEERING, max_size=12).map("".join))
ASCII_TEXT = st.one_of(
    st.text(st.sampled_from("aB1 -_\n\0\x1b[m"), max_size=30), st.text("aB -", min_size=60, max_size=200)
)


class TestWords:
    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("The Cat's ears", ["the", "cat", "s", "ears"]),
            ("read_file.py", ["read", "file", "py"]),
            ("Café, CAFE\u0301 und Straße", ["cafe", "cafe", "und", "strasse"]),
            ("Привет, Ёлка", ["привет", "елка"]),
            ("天気予報", ["天気", "気予", "予報", "報"]),
            ("東京tower", ["東京", "京", "tower"]),
            ("天", ["天"]),
            ("— … 🙂", []),
            ("ﬁne ２０２６", ["fine", "2026"]),
            ("x" * 100, ["x" * 100]),
            ("½ kg, 2½ cups, x²", ["1", "2", "kg", "2", "1", "2", "cups", "x2"]),
            ("ﾃﾞｰ", ["デー", "ー"]),
        ],
    )
    def test_they_are_without_case_accents_and_punctuation(self, text: str, words: list[str]) -> None:
        assert words_of(text) == words

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("\x1b[31mred\x1b[0m", ["red"]),
            ("\x1b[1;38;5;196mred\x1b[39;49m Über", ["red", "uber"]),
            ("pre\x1b[01;31m\x1b[Kmat\x1b[m\x1b[Kch", ["prematch"]),  # as grep prints it
            ("天\x1b[31m気\x1b[m", ["天気", "気"]),
            ("one\x1b[5Ctwo\x1b[2J\x1b[?25hthree", ["one", "two", "three"]),
            ("\x1b]8;;https://a.example\x1b\\link\x1b]8;;\x07.", ["https", "a", "example", "link"]),
            ("\x1b]0;a title\x07\x1b(B\x1b7red\x1b8", ["a", "title", "red"]),
            ("\x1b[3", ["3"]),  # cut off
            ("\x1bred \x1b", ["red"]),
        ],
    )
    def test_what_steers_a_terminal_is_none_and_a_colour_parts_none(self, text: str, words: list[str]) -> None:
        assert words_of(text) == words
        assert words_of(f"{text} ж") == [*words, "ж"]

    @given(ANY_TEXT)
    def test_they_are_the_same_with_and_without_their_places(self, text: str) -> None:
        words, starts, ends = spans_of(text)
        assert words == words_of(text)
        assert all(0 <= start < end <= len(text) for start, end in zip(starts, ends, strict=True))

    @given(st.one_of(ANY_TEXT, st.text(st.characters(max_codepoint=127)), st.text("aB -", min_size=60, max_size=200)))
    def test_an_index_gets_the_same_ones(self, text: str) -> None:
        assert signed_words(text, "7,").split() == [f"7,{word[:WORD_CHARACTERS]}" for word in words_of(text)]

    @given(ANY_TEXT, st.integers(1, 20))
    def test_portions_of_a_text_have_the_same_ones(self, text: str, characters: int) -> None:
        portions = list(portions_of(text, characters))
        assert "".join(portions) == text
        assert [word for portion in portions for word in words_of(portion)] == words_of(text)
        assert all(len(portion) <= characters or " " not in portion[:-1] for portion in portions)

    def test_a_long_run_is_not_kept_in_memory(self) -> None:
        before = _words_of_run.cache_info().currsize
        assert len(words_of("天気予報" * 1000)) == 4000
        assert _words_of_run.cache_info().currsize == before

    @given(ANY_TEXT)
    def test_no_database_takes_them_for_anything_else(self, text: str) -> None:
        """Letters and digits in lower case, and marks of scripts that need them: no blank, quote or sign."""
        for word in words_of(text):
            assert word
            assert all(not each.isascii() or (each.isalnum() and not each.isupper()) for each in word)
            assert word.split() == [word]


class TestQuestions:
    @pytest.mark.parametrize(
        ("text", "question"),
        [
            ("cats dogs", All((Phrase(("cats",)), Phrase(("dogs",))))),
            ('"cats and dogs"', Phrase(("cats", "and", "dogs"))),
            ("cats OR dogs", Any((Phrase(("cats",)), Phrase(("dogs",))))),
            ("cats NOT dogs", Without(Phrase(("cats",)), Phrase(("dogs",)))),
            ("cats AND NOT dogs", Without(Phrase(("cats",)), Phrase(("dogs",)))),
            ("(a OR b) AND c", All((Any((Phrase(("a",)), Phrase(("b",)))), Phrase(("c",))))),
            ("cat*", Phrase(("cat",), open=True)),
            ('"the ca"*', Phrase(("the", "ca"), open=True)),
            ("read_file", Phrase(("read", "file"))),
            ("天気", Phrase(("天気",))),
            ("天", Phrase(("天",), open=True)),
            ("— cats", Phrase(("cats",))),
        ],
    )
    def test_words_phrases_beginnings_and_operators(self, text: str, question: object) -> None:
        assert parse_question(text) == question

    @pytest.mark.parametrize(
        "text", ["cats AND", "NOT cats", "OR", '"cats', "(cats", "cats)", "((" * 500 + "cats", "a OR"]
    )
    def test_what_cannot_be_read_is_taken_as_words(self, text: str) -> None:
        found = parse_question(text)
        assert [phrase.words[0] for phrase in phrases_of(found)] == list(dict.fromkeys(words_of(text)))

    @pytest.mark.parametrize("text", ["", "—", '""', "()", "x" * (QUESTION_LIMIT + 1), "a b " * QUESTION_WORDS_LIMIT])
    def test_what_has_no_words_or_too_many_is_refused(self, text: str) -> None:
        with pytest.raises(InvalidArgument):
            parse_question(text)

    @given(ANY_TEXT)
    def test_any_text_is_a_question_or_is_refused_by_name(self, text: str) -> None:
        try:
            parse_question(text)
        except InvalidArgument:
            assert words_of(text) == []

    @given(ANY_TEXT)
    def test_a_text_is_found_by_itself(self, text: str) -> None:
        if words_of(text):
            assert matches(parse_question('"' + text.replace('"', " ") + '"'), [SearchedText(text)])

    def test_a_phrase_stands_in_one_text_in_its_order(self) -> None:
        question = parse_question('"big dog"')
        assert matches(question, [SearchedText("a big dog")])
        assert not matches(question, [SearchedText("dog big")])
        assert not matches(question, [SearchedText("big"), SearchedText("dog")])

    def test_words_may_stand_in_several_texts(self) -> None:
        assert matches(parse_question("big dog"), [SearchedText("big"), SearchedText("dog")])
        assert not matches(parse_question("big NOT dog"), [SearchedText("big"), SearchedText("dog")])

    def test_how_often_a_phrase_stands_there_is_counted(self) -> None:
        asked = [
            Phrase(("go",)),
            Phrase(("go",), open=True),
            Phrase(("go", "on")),
            Phrase(("and", "go"), open=True),
            Phrase(("go", "on", "and", "go", "on")),
        ]
        for text in ("go on and go on and gone", "Go on, ánd gó on and gone"):
            assert [SearchedText(text).count(each) for each in asked] == [2, 3, 2, 2, 1]
        assert SearchedText("go go go go").count(Phrase(("go", "go"))) == 3  # one over the other

    @given(ASCII_TEXT, st.lists(ASCII_TEXT, min_size=1, max_size=3))
    def test_ascii_is_asked_as_its_words_are(self, text: str, asked: list[str]) -> None:
        """Its bytes are searched; with a letter that is not ASCII behind it, it is cut into words."""
        words = [*words_of(" ".join(asked)), *words_of(text)[1:4]]
        for begun in range(len(words)):
            for phrase in (Phrase((words[begun],)), Phrase(tuple(words[begun:])), Phrase(tuple(words[begun:]), True)):
                plain, cut = SearchedText(text), SearchedText(text + " ж")
                assert plain.count(phrase) == cut.count(phrase)
                assert plain.holds(phrase) == cut.holds(phrase)
                assert sorted(plain.spans([phrase])) == sorted(cut.spans([phrase]))
        assert SearchedText(text).length == SearchedText(text + " ж").length - 1


class TestSnippets:
    def test_a_short_text_is_shown_whole_with_its_marks(self) -> None:
        found = snippet_of("The cat\nsat on Die Straße", [Phrase(("cat",)), Phrase(("strasse",))])
        assert found.text == "The cat sat on Die Straße"
        assert [found.text[start:end] for start, end in found.marks] == ["cat", "Straße"]

    def test_a_long_text_is_cut_around_the_most_matches(self) -> None:
        text = "cat " + "filler " * 100 + "the cat chased a dog " + "filler " * 100
        found = snippet_of(text, [Phrase(("cat",)), Phrase(("dog",))])
        assert [found.text[start:end] for start, end in found.marks] == ["cat", "dog"]
        assert found.text.startswith("…")
        assert found.text.endswith("…")
        assert len(found.text) <= SNIPPET_CHARACTERS + 2

    def test_colours_lie_inside_a_mark_and_not_around_it(self) -> None:
        for text in ("a \x1b[31mred cat\x1b[0m", "a r\x1b[1med\x1b[0m Café"):
            found = snippet_of(text, [Phrase(("red",))])
            assert [found.text[start:end].replace("\x1b[1m", "") for start, end in found.marks] == ["red"]

    @given(ANY_TEXT, ANY_TEXT)
    def test_marks_lie_in_the_snippet_in_order(self, text: str, asked: str) -> None:
        phrases = [Phrase((word,)) for word in words_of(asked)] + [Phrase((word,)) for word in words_of(text)[:3]]
        found = snippet_of("\n".join([text] * 9), phrases)
        flat = [place for mark in found.marks for place in mark]
        assert flat == sorted(flat)
        assert all(0 <= place <= len(found.text) for place in flat)
        assert not words_of(text) or found.marks
