"""The report: one self-contained page, and the same as Markdown."""
