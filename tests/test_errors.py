"""All errors for bad input have one base, and a misspelt name gets a hint."""

from __future__ import annotations

import inspect

from steering import errors


def test_one_base() -> None:
    classes = [c for _, c in inspect.getmembers(errors, inspect.isclass) if c.__module__ == errors.__name__]
    assert len(classes) >= 6
    assert all(issubclass(c, errors.SteeringError | Warning) for c in classes)
    assert issubclass(errors.SteeringError, ValueError)


def test_nearest_name_is_suggested() -> None:
    error = errors.unknown_name("agent", "psrll", ["psrl", "ids"])
    assert isinstance(error, errors.UnknownName)
    assert str(error) == "unknown agent 'psrll': did you mean 'psrl'?"


def test_all_names_are_listed_when_none_is_near() -> None:
    assert str(errors.unknown_name("agent", "zzzz", ["psrl", "ids"])) == "unknown agent 'zzzz': known: ids, psrl."


def test_a_name_that_may_be_somebodys_own_says_how_to_bring_it() -> None:
    names = ["psrl", "opsrl"]
    assert "--import MODULE" in str(errors.unknown_name("agent", "hopeful", names, own=True))
    assert "--import MODULE" not in str(errors.unknown_name("agent", "psrll", names, own=True))
    assert "--import" not in str(errors.unknown_name("option of agent 'psrl'", "hopeful", names))
