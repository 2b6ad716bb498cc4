"""Where the command line begins, also with `python -m steering`: Ctrl-C is one line, while files load too."""

from __future__ import annotations

import sys


def main() -> None:
    """Load the command line and run it."""
    try:
        from steering.cli import main as command
    except KeyboardInterrupt:
        print("interrupted.", file=sys.stderr)
        sys.exit(130)
    command()


if __name__ == "__main__":
    main()
