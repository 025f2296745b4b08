"""The check of tool inputs, with an independent implementation as the judge."""

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worker.model.schema import SchemaNotUnderstood, faults, understood
from worker.model.words import Tool

LEAVES = st.one_of(
    st.fixed_dictionaries({"type": st.sampled_from(["boolean", "null"])}),
    st.fixed_dictionaries(
        {"type": st.just("string")},
        optional={
            "minLength": st.integers(0, 3),
            "maxLength": st.integers(0, 3),
            "pattern": st.sampled_from(["a", "^b", "^$"]),
        },
    ),
    st.fixed_dictionaries(
        {"type": st.sampled_from(["integer", "number"])},
        optional={"minimum": st.integers(-2, 2), "maximum": st.integers(-2, 2)},
    ),
    st.fixed_dictionaries({"enum": st.lists(st.sampled_from(["a", "b", 1, True, None]), min_size=1, max_size=3)}),
    st.fixed_dictionaries({"const": st.sampled_from(["a", 1, 0, False])}),
)
NAMES = st.sampled_from(["a", "b", "c"])


def nested(inner):
    things = st.fixed_dictionaries(
        {"type": st.just("object"), "properties": st.dictionaries(NAMES, inner, max_size=3)},
        optional={"required": st.lists(NAMES, unique=True, max_size=2), "additionalProperties": st.just(False)},
    )
    lists = st.fixed_dictionaries(
        {"type": st.just("array"), "items": inner},
        optional={"minItems": st.integers(0, 2), "maxItems": st.integers(0, 2)},
    )
    return st.one_of(things, lists, st.fixed_dictionaries({"anyOf": st.lists(inner, min_size=1, max_size=2)}))


SCHEMAS = st.recursive(LEAVES, nested, max_leaves=6)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-3, 3), st.sampled_from([0.5, 1.0, "", "a", "b", "äöüß"])),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(NAMES, inner, max_size=3)),
    max_leaves=6,
)


@settings(max_examples=300)
@given(SCHEMAS, VALUES)
def test_the_check_agrees_with_an_independent_validator(schema, value):
    understood(schema)
    assert (faults(schema, value) == []) == jsonschema_rs.validator_for(schema).is_valid(value)


@pytest.mark.parametrize("kind", ["integer", "number"])
def test_true_is_not_a_number(kind):
    assert faults({"type": kind}, True) == [f"input must be of type {kind}."]
    assert faults({"enum": [1]}, True) != []


def test_a_reference_is_followed_and_recursion_ends():
    schema = {
        "$defs": {
            "node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}, "additionalProperties": False}
        },
        "$ref": "#/$defs/node",
    }
    assert faults(schema, {"next": {"next": {}}}) == []
    assert faults(schema, {"next": {"last": {}}}) == ["input.next has an unknown field 'last'."]


def test_a_value_nested_without_end_is_a_fault_and_not_a_crash():
    deep: dict = {}
    for _ in range(500):
        deep = {"next": deep}
    schema = {
        "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}},
        "$ref": "#/$defs/node",
    }
    assert "too deeply" in faults(schema, deep)[0]


def test_faults_name_the_place_and_stay_few():
    schema = {"type": "array", "items": {"type": "object", "properties": {"line": {"type": "integer", "minimum": 1}}}}
    assert faults(schema, [{"line": 1}, {"line": "2"}, {"line": 0}]) == [
        "input[1].line must be of type integer.",
        "input[2].line must be at least 1.",
    ]
    assert len(faults(schema, [{"line": "x"}] * 100)) == 8


@pytest.mark.parametrize("loose", [{"not": {}}, {"oneOf": []}, {"type": ["string", "null"]}, {"format": "uri"}])
def test_a_tool_with_a_keyword_that_is_not_checked_cannot_be_made(loose):
    with pytest.raises(SchemaNotUnderstood):
        Tool("read_file", "Reads.", {"type": "object", "properties": {"a": loose}, "additionalProperties": False})


@pytest.mark.parametrize(
    "schema", [{"type": "string"}, {"type": "object"}, {"type": "object", "additionalProperties": True}]
)
def test_a_tool_must_take_an_object_without_unknown_fields(schema):
    with pytest.raises(ValueError, match="no additional properties"):
        Tool("read_file", "Reads.", schema)
