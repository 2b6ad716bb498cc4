"""The text form of environments and agents."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steering.errors import InvalidOption, SteeringError
from steering.spec import describe, parse


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("deepsea:15", ("deepsea", [15], {})),
        (" deepsea : 15 ", ("deepsea", [15], {})),
        ("psrl", ("psrl", [], {})),
        ("psrl:", ("psrl", [], {})),
        ("ids:information=variance", ("ids", [], {"information": "variance"})),
        ("a:1,2.5,x,k=true,l=False,m=none,n=-1e3", ("a", [1, 2.5, "x"], {"k": True, "l": False, "m": None, "n": -1e3})),
        ("p:4,2,normal_gamma=(0,1,1,4)", ("p", [4, 2], {"normal_gamma": (0, 1, 1, 4)})),
        ("p:((1,2),()),k=(a)", ("p", [((1, 2), ())], {"k": ("a",)})),
    ],
)
def test_parse(text: str, parts: tuple[object, ...]) -> None:
    assert parse(text) == parts
    assert [type(v) for v in parse(text)[1]] == [type(v) for v in parts[1]]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no name"),
        (":3", "no name"),
        ("a:1,,2", "empty part"),
        ("a:1,", "empty part"),
        ("a:k=1,2", "put it before"),
        ("a:k=1,k=2", "given twice"),
        ("a:k k=1", "not an option name"),
        ("a:=1", "not an option name"),
        ("a:(1", "brackets do not match"),
        ("a:1)", "brackets do not match"),
        ("a:)1(", "brackets do not match"),
        ("a:" + "(" * 5000 + ")" * 5000, "round brackets inside each other"),
    ],
)
def test_refuses(text: str, says: str) -> None:
    with pytest.raises(InvalidOption, match=says):
        parse(text)


plain = st.one_of(
    st.integers(), st.floats(allow_nan=False), st.booleans(), st.none(), st.sampled_from(["dense", "one-low", "8x8"])
)
values = st.one_of(plain, st.lists(plain, max_size=3).map(tuple))


@given(st.lists(values, max_size=4), st.dictionaries(st.sampled_from("abcd"), values))
def test_round_trip(positional: list[object], options: dict[str, object]) -> None:
    assert parse(describe("name", positional, options)) == ("name", positional, options)


@given(st.text(alphabet="a1:,=().e-+ \x00é", max_size=40))
def test_any_text_parses_or_is_refused(text: str) -> None:
    with contextlib.suppress(SteeringError):  # nothing else may be raised
        name, _, _ = parse(text)
        assert name
