"""Claims of the paper: one rule for all verdicts (`rule`), and the claims themselves, by topic."""
