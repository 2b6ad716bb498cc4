"""Run the command line with `python -m steering.cli`."""

from steering.cli import main

main()
