"""The report: one self-contained page, and the same as Markdown; Markdown tables of the studies are made here too."""
