"""The wheel holds three packages and what they need to run, and nothing else."""

import sys
import zipfile
from pathlib import Path

NEEDED = (
    "headish/py.typed",
    "headish/store.py",
    "headish/renderings/page.css",
    "headish/renderings/page.js",
    "headish_cli/conversations.jsonl",
    "headish_migrations/env.py",
    "headish_migrations/script.py.mako",
    "headish_migrations/versions/headish_0001_store.py",
    "headish_migrations/versions/headish_0002_options_index.py",
)
PACKAGES = {"headish", "headish_migrations", "headish_cli"}


def main(folder: str) -> None:
    [wheel] = Path(folder).glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    missing = sorted(set(NEEDED) - set(names))
    roots = {name.split("/")[0] for name in names}
    strange = sorted(root for root in roots - PACKAGES if not root.endswith(".dist-info"))
    licence = [name for name in names if name.endswith("/LICENSE")]
    if missing or strange or not licence:
        sys.exit(f"{wheel.name}: missing {missing}, strange {strange}, licence {licence}")
    print(f"{wheel.name}: {len(names)} files, all needed ones there")


if __name__ == "__main__":
    main(sys.argv[1])
