"""``python -m headish_cli`` is the ``headish`` command, for an environment whose scripts are not on the path."""

from headish_cli.main import main

if __name__ == "__main__":
    main(prog_name="headish")
