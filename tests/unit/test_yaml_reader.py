"""
YAML is read as plain values, within limits.
"""

import pytest

from service.config.yaml_reader import MAX_DEPTH, MAX_TEXT_BYTES, UnreadableYaml, Value, read_yaml


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("", None, id="nothing"),
        pytest.param("# a comment\n", None, id="only a comment"),
        pytest.param("a: 1", {"a": 1}, id="integer"),
        pytest.param("a: 007", {"a": 7}, id="leading zeros are decimal"),
        pytest.param("a: 0o17", {"a": 15}, id="octal"),
        pytest.param("a: 0x1F", {"a": 31}, id="hexadecimal"),
        pytest.param("a: -1.5e3", {"a": -1500.0}, id="float"),
        pytest.param("a: [true, false, ~, null]", {"a": [True, False, None, None]}, id="switches and nulls"),
        pytest.param("a: on\nb: yes", {"a": "on", "b": "yes"}, id="on and yes are strings"),
        pytest.param("a: 12:30", {"a": "12:30"}, id="no sexagesimal numbers"),
        pytest.param("a: 2026-01-01", {"a": "2026-01-01"}, id="no dates"),
        pytest.param("a: '1'", {"a": "1"}, id="a quoted number is a string"),
        pytest.param("a:\n  b:", {"a": {"b": None}}, id="a key alone"),
        pytest.param("1: x", {"1": "x"}, id="keys are text"),
        pytest.param("a: &x [1]\nb: *x", {"a": [1], "b": [1]}, id="alias"),
    ],
)
def test_scalars_follow_yaml_1_2(text: str, expected: Value) -> None:
    assert expected == read_yaml(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("a: 1\nb: 2\na: 3", "line 3, column 1: the key a stands twice", id="key twice"),
        pytest.param("a: .inf", "line 1, column 4: a number should be finite", id="infinite"),
        pytest.param("a: .nan", "line 1, column 4: a number should be finite", id="not a number"),
        pytest.param("a: 1e999", "line 1, column 4: a number should be finite", id="overflow"),
        pytest.param("a: " + "9" * 26, "line 1, column 4: a number of more than 25 digits", id="digits"),
        pytest.param("x: !!python/name:os.system", "line 1, column 4: tags are not supported", id="tag"),
        pytest.param("? [a]\n: 1", "line 1, column 3: a key should be text", id="list as key"),
        pytest.param(
            "<<: {a: 1}", "line 1, column 1: merge keys are not part of YAML 1.2; give --config twice", id="merge"
        ),
        pytest.param("a: 1\n---\nb: 2", "line 2, column 1: but found another document", id="two documents"),
        pytest.param("a: &x [*x]", "line 1, column 4: an alias contains itself, or aliases nest too deep", id="cycle"),
        pytest.param(
            "[" * 1_000, f"line 1, column {MAX_DEPTH + 1}: nested deeper than {MAX_DEPTH} levels", id="deep flow"
        ),
        pytest.param('a: "\\ud800"', "line 1, column 4: a character that is half of a surrogate pair", id="surrogate"),
        pytest.param("a: \x00", "holds a character that YAML does not allow", id="NUL"),
        pytest.param("a: *password", "line 1, column 4: found undefined alias …", id="no quoting of the text"),
    ],
)
def test_what_no_configuration_needs_is_refused_with_its_place(text: str, message: str) -> None:
    with pytest.raises(UnreadableYaml) as refused:
        read_yaml(text)

    assert message == str(refused.value)


def test_aliases_cannot_unfold_to_more_than_a_limit() -> None:
    levels = [f"l{level}: &l{level} [" + ", ".join([f"*l{level - 1}"] * 10) + "]" for level in range(1, 9)]

    with pytest.raises(UnreadableYaml, match="more than 200000 values after aliases are unfolded"):
        read_yaml("\n".join(["l0: &l0 [x, x, x, x, x, x, x, x, x, x]", *levels]))


def test_a_huge_text_is_refused_unread() -> None:
    with pytest.raises(UnreadableYaml, match=f"^more than {MAX_TEXT_BYTES} bytes$"):
        read_yaml("[" * (MAX_TEXT_BYTES + 1))
