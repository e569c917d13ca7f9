"""The installed wheel, alone in an environment: the command, the tour, an upgrade and the library work."""

import subprocess
import sys
import tempfile
from pathlib import Path

import headish
from headish.providers import PROVIDERS

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
        ask_every_provider(target)
    assert (BIN.parent / "share/man/man1/headish.1").exists()
    print(f"the installed wheel works on Python {'.'.join(map(str, sys.version_info[:3]))}")


def ask_every_provider(target: str) -> None:
    """Requests and replies need no extra; a call says which one it needs, and says it before anything is sent."""
    for provider in PROVIDERS:
        assert "Hello?" in run("--db", target, "request", "main", "--to", provider)
    run("--db", target, "ptr", "set", "local", "openai/any", "--base-url", "http://127.0.0.1:9/v1")
    asked = [BIN / "headish", "--db", target, "ask", "-c", "main", "-p", "local"]
    done = subprocess.run(asked, capture_output=True, text=True)
    assert done.returncode == 1, done
    assert "pip install 'headish[call]'" in done.stderr, done.stderr


def downgrade_and_upgrade(target: str) -> None:
    """Alembic finds its versions in the installed wheel."""
    from headish.database.dialects import connect
    from headish.database.upgrade import current_revision, upgrade_schema

    database = connect(target)
    upgrade_schema(database, "headish_0001")
    assert current_revision(database) == "headish_0001"
    database.close()
    run("--db", target, "db", "upgrade")


if __name__ == "__main__":
    main()
