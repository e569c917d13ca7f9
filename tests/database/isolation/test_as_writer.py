"""What a login with no more than ``headish_writer`` may do.

The tests of other folders run here once more, in a secured database: those in which the verbs that store race, and
those of reading. What they do not call is called in test_tenants; what takes another role, in test_roles.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

from support.places import Place
from support.reloading import load

TESTS = Path(__file__).parents[2]
AGAIN = ("concurrency/test_races.py", "store/test_reading.py", "searching/test_seen.py")
OWNERS = {"test_odd_arguments.py", "test_quotas.py", "test_access_tokens.py"}
"""They call what only the owner may do."""
OTHER_ROLES = {"erase", "erase_conversation", "erase_unshared", "limit"}
"""Verbs of other roles, which a few tests of other modules call."""
SUITE = [
    str(path.relative_to(TESTS))
    for folder in ("store", "history")
    for path in sorted((TESTS / folder).glob("test_*.py"))
    if path.name not in OWNERS and "@pytest.fixture" not in path.read_text("utf-8")
]
"""The store's own tests without fixtures of their own. They take minutes: HEADISH_TEST_WRITER=all runs them, too."""
VERBS = "concurrency/test_every_verb.py"
TENANTS, ROLES, SECURING, SHARING = "test_tenants.py", "test_roles.py", "test_securing.py", "test_sharing.py"
ELSEWHERE = {
    **dict.fromkeys(("Store.capture", "Store.write", "Streams.recover", "Streams.drop", "Database.move"), TENANTS),
    **dict.fromkeys(("Spaces.add", "Store.reindex", "Store.sign"), TENANTS),
    **dict.fromkeys(
        (
            "Database.gc", "Database.search_index", "Spaces.remove", "Spaces.rename", "Spaces.limit", "Spaces.erase",
            "Store.erase", "Bookmarks.erase",
        ),
        ROLES,
    ),
    **dict.fromkeys(("Database.distribute", "Database.secure", "Spaces.grant", "Spaces.revoke"), SECURING),
    **dict.fromkeys(("AccessTokens.add", "AccessTokens.remove"), TENANTS),
    "restore": ROLES,
    "Bundles.apply": SHARING,
    **{f"Remotes.{name}": SHARING for name in (
        "add", "set", "remove", "invite", "revoke", "push", "pull", "erase_pending", "dismiss_pending",
    )},
}  # fmt: skip
"""The verbs that store, and that no test which runs again calls; and the file of this folder that calls them."""
BY_OTHERS = {
    **{f"Batches.{name}": "Objects.put" for name in ("create", "status", "collect")},
    "Batches.drop": "Objects.remove",
    "Streams.recover_remote": "Streams.recover",
    "Remotes.answer": "Remotes.push",
}
"""Verbs that ask a provider, or answer where a push to a space of a database runs the same, and send the server no
statement that another verb does not send."""


def again(path: str) -> Iterator[tuple[str, Any]]:
    """The tests of a module, but for those that try many examples, which ask no other statement of the server, and
    those that call verbs of another role."""
    for name, member in vars(load(path)).items():
        if name.startswith("test_") and inspect.isfunction(member) and _is_run(member):
            yield f"{name}_again", member
        if name.startswith("Test") and inspect.isclass(member):
            kept = {key: value for key, value in vars(member).items() if _is_run(value) and not key.startswith("__")}
            yield f"{name}Again", type(name, (), kept)


def _is_run(member: Any) -> bool:
    return not hasattr(member, "hypothesis") and not (inspect.isfunction(member) and _names(member) & OTHER_ROLES)


def _names(function: FunctionType) -> set[str]:
    """What a function names, and the functions of its module that it names; ``erase=`` as ``erase``."""
    code = [function.__code__]
    for each in code:
        code += [part for part in each.co_consts if isinstance(part, CodeType)]
    names = {name for each in code for name in each.co_names}
    keywords = [part for each in code for part in each.co_consts if isinstance(part, tuple)]
    names |= {"erase" for part in keywords if "erase" in part}
    helpers = [function.__globals__.get(name) for name in names if not name.startswith("test")]
    inside = [each for each in helpers if inspect.isfunction(each) and each.__module__ == function.__module__]
    return names.union(*(each.__code__.co_names for each in inside))


for _path in dict.fromkeys((*AGAIN, *(SUITE if os.environ.get("HEADISH_TEST_WRITER") == "all" else ()))):
    globals().update(again(_path))


def test_every_verb_that_stores_is_called_in_a_secured_database() -> None:
    verbs = load(VERBS)
    called = {verb: set().union(*(verbs.called(TESTS / path) for path in AGAIN)) for verb in verbs.WRITING}
    here = Path(__file__).parent
    called |= {verb: verbs.called(here / path) for verb, path in ELSEWHERE.items()}
    missing = {verb for verb in verbs.WRITING if _as_called(verb) not in called[verb]}
    assert missing == BY_OTHERS.keys()
    assert missing.isdisjoint(BY_OTHERS.values())


def _as_called(verb: str) -> str:
    kind, _, name = verb.rpartition(".")
    part = load(VERBS).PROPERTIES.get(kind, kind.lower())
    return name if kind in ("", "Store", "Database") else f"{part}.{name}"


def test_the_login_is_held_by_policies(place: Place) -> None:
    assert place.open(isolation="required")._backend.is_confined
