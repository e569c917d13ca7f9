"""The wheel holds the three packages, file for file, the man pages, the licence, and nothing else.

Where the sdist and the bill of materials lie beside it: the sdist holds what git has, no more; the bill has each
package that headish needs to run, with its version and licence, and no path of the machine that made it.
"""

import json
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
ROOTS = ("store", "migrations", "cli")
OWN = {"PKG-INFO"}
"""What the sdist has beyond the files of the repository."""
LEFT_OUT = {".gitattributes", ".ci"}
"""What it has not of them: it says how the repository is kept."""


def main(folder: str) -> None:
    [wheel] = Path(folder).glob("*.whl")
    problems = check_wheel(wheel)
    for sdist in Path(folder).glob("*.tar.gz"):
        problems += check_sdist(sdist)
    for bill in Path(folder).glob("*.cdx.json"):
        problems += check_bill(bill, wheel)
    if problems:
        sys.exit("\n".join(problems))
    print(f"{folder}: all that is needed is there, and nothing else")


def check_wheel(wheel: Path) -> list[str]:
    names = set(zipfile.ZipFile(wheel).namelist())
    about = {name for name in names if name.split("/")[0].endswith(".dist-info")}
    files = {name for root in ROOTS for name in files_of(REPOSITORY / root)}
    data = "-".join(wheel.name.split("-")[:2]) + ".data/data/share/man/man1"
    files |= {f"{data}/{name}" for name in files_of(REPOSITORY / "docs/man")}
    problems = differences(wheel, names - about, files)
    return problems if any(name.endswith("/LICENSE") for name in about) else [*problems, f"{wheel.name}: no licence"]


def check_sdist(sdist: Path) -> list[str]:
    with tarfile.open(sdist) as archive:
        names = {member.name.partition("/")[2] for member in archive.getmembers() if member.isfile()}
    listed = subprocess.run(["git", "ls-files"], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    files = {name for name in listed.stdout.splitlines() if name.split("/")[0] not in LEFT_OUT}
    return differences(sdist, names - OWN, files)


def check_bill(bill: Path, wheel: Path) -> list[str]:
    said = json.loads(bill.read_text("utf-8"))
    own, others = said["metadata"]["component"], said["components"]
    problems = [f"{bill.name}: {each['name']} has no version or no licence" for each in (own, *others)
                if not (each.get("version") and each.get("licenses"))]  # fmt: skip
    if own.get("version") != wheel.name.split("-")[1]:
        problems.append(f"{bill.name}: of another version than {wheel.name}")
    needed = wheel_needs(wheel) - {each["name"].lower().replace("_", "-") for each in others}
    problems += [f"{bill.name}: lacks {name}" for name in needed]
    return problems + [f"{bill.name}: says {path}" for path in (str(REPOSITORY), "file://") if path in bill.read_text()]


def wheel_needs(wheel: Path) -> set[str]:
    """What the wheel needs without an extra."""
    from packaging.requirements import Requirement

    with zipfile.ZipFile(wheel) as archive:
        [metadata] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        lines = archive.read(metadata).decode().splitlines()
    needs = [Requirement(line.partition(": ")[2]) for line in lines if line.startswith("Requires-Dist: ")]
    return {each.name.lower() for each in needs if each.marker is None or each.marker.evaluate({"extra": ""})}


def differences(file: Path, there: set[str], wanted: set[str]) -> list[str]:
    missing, strange = sorted(wanted - there), sorted(there - wanted)
    return [f"{file.name}: missing {missing}, strange {strange}"] if missing or strange else []


def files_of(root: Path) -> set[str]:
    """What lies below a folder, less what Python has compiled."""
    files = (path.relative_to(root) for path in root.rglob("*") if path.is_file())
    return {file.as_posix() for file in files if "__pycache__" not in file.parts}


if __name__ == "__main__":
    main(sys.argv[1])
