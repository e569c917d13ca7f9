"""Feeds each parser what a fuzzer thinks of: `make fuzz`.

    python tests/fuzz/run.py --corpus FOLDER [--seconds 600] [TARGET …]

Each target runs in a process of its own, instrumented by Atheris (https://github.com/google/atheris), for so many
seconds, from the seeds of its corpus, which grows and is kept for the next run. One line per target says how often it
ran and what it reached; an input that crashes one is left in the corpus' folder, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parents[1]
LIMIT_BYTES = 8192
INPUT_SECONDS = 20
MEMORY_MB = 2048
_RUNS = re.compile(r"stat::number_of_executed_units:\s+(\d+)")
_REACHED = re.compile(r"cov: (\d+)")


def fuzz(target: str, options: list[str]) -> None:
    """Feed one target in this process, which does not come back."""
    import atheris

    sys.path.insert(0, str(TESTS))
    with atheris.instrument_imports(include=["headish"]):
        from fuzz.targets import TARGETS
    atheris.Setup([sys.argv[0], *options], TARGETS[target])
    atheris.Fuzz()


def run(target: str, corpus: Path, seconds: int) -> bool:
    """Feed one target in a process of its own; whether nothing crashed it."""
    folder = corpus / target
    folder.mkdir(parents=True, exist_ok=True)
    crash = corpus / f"crash-{target}-"
    command = [
        sys.executable, __file__, "--one", target, "--corpus", str(corpus), "--",
        str(folder), f"-max_total_time={seconds}", f"-max_len={LIMIT_BYTES}", f"-timeout={INPUT_SECONDS}",
        f"-rss_limit_mb={MEMORY_MB}", f"-artifact_prefix={crash}", "-print_final_stats=1", "-verbosity=1",
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    runs, reached = _RUNS.findall(done.stderr), _REACHED.findall(done.stderr)
    sound = done.returncode == 0
    print(f"{target}: {runs[-1] if runs else 0} inputs, {reached[-1] if reached else 0} places reached"
          f"{'' if sound else ', CRASHED'}", flush=True)  # fmt: skip
    if not sound:
        print(done.stdout[-4000:], done.stderr[-4000:], sep="\n", flush=True)
    return sound


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("targets", nargs="*")
    given = parser.parse_args()
    if given.one:
        fuzz(given.one, given.targets)
    targets = given.targets or sorted(each.name for each in given.corpus.iterdir() if each.is_dir())
    crashed = [target for target in targets if not run(target, given.corpus, given.seconds)]
    return int(bool(crashed))


if __name__ == "__main__":
    sys.exit(main())
