"""The pages that docs/generate.py writes are those that lie in the repository."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from headish.providers import PROVIDERS
from headish.providers.dialects.table import DIALECTS

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.fixture(scope="module")
def generate() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", DOCS / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    "page",
    [
        "cli.md",
        "damage.md",
        "http-api.md",
        "openapi.json",
        "library.md",
        "schema.md",
        "../../store/headish/database/ddl.py",
        "erasing.md",
        "errors.md",
        "imports.md",
        "formats/carrying.md",
        "imports/frameworks-and-services.md",
        "../explanation/compared.md",
    ],
)
def test_a_page_is_what_the_code_says(generate: ModuleType, page: str) -> None:
    assert (DOCS / "reference" / page).read_text("utf-8") == generate.PAGES[page](), "run `make docs`"


def test_every_generated_page_is_checked(generate: ModuleType) -> None:
    pages = {
        "cli.md",
        "damage.md",
        "http-api.md",
        "openapi.json",
        "errors.md",
        "formats/carrying.md",
        "imports/frameworks-and-services.md",
        "imports.md",
        "library.md",
        "schema.md",
        "../../store/headish/database/ddl.py",
        "erasing.md",
        "providers/README.md",
        "providers/refused.md",
        "providers/dialects/README.md",
        "../explanation/compared.md",
    }
    pages |= {f"providers/dialects/{name}.md" for name in DIALECTS}
    assert generate.PAGES.keys() == pages | {f"providers/{provider}.md" for provider in PROVIDERS}


def test_the_page_of_errors_has_a_whole_row_for_each_error_and_each_limit() -> None:
    tables = [each.split("\n\n")[0] for each in (DOCS / "reference/errors.md").read_text("utf-8").split("|---|\n")[1:]]
    for table in tables:
        rows = table.strip().split("\n")
        assert [row for row in rows if not row.startswith("| ") or not row.endswith(" |")] == []
        names = [row.split("`")[1] for row in rows]
        assert len(set(names)) == len(names)
    assert len(tables) == 2
