"""One file for each figure: `needs` (which runs), `data` (tables), `draw` and `figures` (drawings), `CHAPTER`."""
