"""The installed wheel, alone in an environment: the command, the tour, an upgrade and the library work."""

import subprocess
import sys
import tempfile
from pathlib import Path

import headish

BIN = Path(sys.executable).parent


def run(*words: str) -> str:
    done = subprocess.run([BIN / "headish", *words], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"headish {' '.join(words)}: exit {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout


def main() -> None:
    assert "site-packages" in headish.__file__, headish.__file__
    assert run("--version").strip() == f"headish {headish.__version__}"
    assert "<|start|>" in run("demo")
    with tempfile.TemporaryDirectory() as folder:
        target = str(Path(folder) / "smoke.db")
        with headish.Store.open(target) as store:
            store.add_turn("Hello?", bookmark="main")
        downgrade_and_upgrade(target)
        assert "Hello?" in run("--db", target, "export", "main")
    print("the installed wheel works")


def downgrade_and_upgrade(target: str) -> None:
    """Alembic finds its versions in the installed wheel."""
    from headish.dialects import connect
    from headish.upgrade import current_revision, upgrade_schema

    database = connect(target)
    upgrade_schema(database, "headish_0001")
    assert current_revision(database) == "headish_0001"
    database.close()
    run("--db", target, "db", "upgrade")


if __name__ == "__main__":
    main()
