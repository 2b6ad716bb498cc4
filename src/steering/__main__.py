"""Run the command line with `python -m steering`."""

from steering.cli import main

main()
