"""Compiled functions: arrays and numbers in, arrays and numbers out, nothing validated.

The validated, typed functions that people call stand in the packages above; agents call these directly inside
their own compiled loops. Every function is decorated with `steering._compiled._jit.jit` and nothing else.
"""
