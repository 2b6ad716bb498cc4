"""The command `steering`, and `python -m steering`: a Ctrl-C from the first line on is one line too."""

from __future__ import annotations

import os


def main() -> None:
    """Run the command line; see `steering.cli`."""
    try:
        from steering.cli import main as command

        command()
    except KeyboardInterrupt:  # before signals are listened to, so that nothing has begun
        os.write(2, b"interrupted.\n")
        os._exit(130)


if __name__ == "__main__":
    main()
