"""How ``headish run`` tells a tool where its provider is."""

from __future__ import annotations

from headish_cli.commands.serving.running import TOKEN_VARIABLE, TOOLS

GATEWAY = "http://127.0.0.1:8322"


def test_a_token_is_in_no_argument_of_any_tool_and_each_gets_it() -> None:
    for name, tool in TOOLS.items():
        variables, words = tool.variables_of(GATEWAY, "hdsh_x"), tool.command_of(GATEWAY, "hdsh_x")
        assert not [word for word in words if "hdsh_x" in word], name
        told = [f"{GATEWAY}/t/hdsh_x" in value for key, value in variables.items() if key in tool.variables]
        by_header = variables.get(TOKEN_VARIABLE) == "hdsh_x" and any(TOKEN_VARIABLE in word for word in words)
        assert (bool(told) and all(told)) or by_header, name


def test_without_a_token_nothing_speaks_of_one() -> None:
    for name, tool in TOOLS.items():
        variables, words = tool.variables_of(GATEWAY, None), tool.command_of(GATEWAY, None)
        assert TOKEN_VARIABLE not in variables, name
        assert not [word for word in (*words, *variables.values()) if "/t/" in word or "headers" in word], name
        assert [word for word in (*words, *variables.values()) if GATEWAY in word], name
