"""The wheel holds the three packages, file for file, the man pages, the licence, and nothing else."""

import sys
import zipfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
ROOTS = ("store", "migrations", "cli")


def main(folder: str) -> None:
    [wheel] = Path(folder).glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    about = {name for name in names if name.split("/")[0].endswith(".dist-info")}
    files = {name for root in ROOTS for name in files_of(REPOSITORY / root)}
    data = "-".join(wheel.name.split("-")[:2]) + ".data/data/share/man/man1"
    files |= {f"{data}/{name}" for name in files_of(REPOSITORY / "docs/man")}
    missing, strange = sorted(files - names), sorted(names - files - about)
    licence = [name for name in about if name.endswith("/LICENSE")]
    if missing or strange or not licence:
        sys.exit(f"{wheel.name}: missing {missing}, strange {strange}, licence {licence}")
    print(f"{wheel.name}: {len(names)} files, all needed ones there")


def files_of(root: Path) -> set[str]:
    """What lies below a folder, less what Python has compiled."""
    files = (path.relative_to(root) for path in root.rglob("*") if path.is_file())
    return {file.as_posix() for file in files if "__pycache__" not in file.parts}


if __name__ == "__main__":
    main(sys.argv[1])
