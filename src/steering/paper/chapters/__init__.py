"""One folder a chapter: its runs, tables and drawings in `__init__`, its claims beside them.

The list of chapters is `steering.paper.contents`.
"""
