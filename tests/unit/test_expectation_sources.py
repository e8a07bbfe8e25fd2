"""
Where an expectation comes from: precedence, provenance, waiting for the root.
"""

from typing import Any

import pytest

from proto_adapters.canonical import AttributeValue
from service.conditions import ToolRequirement
from service.config.expectations import ExpectationConfig
from service.config.tool_selection_accuracy import ToolSelectionAccuracyConfig
from service.evaluation import ExpectedSource, Reason
from service.evidence import Partition
from service.scoring.annotations import AnnotationInvalid, find_annotation_problems, read_tool_names
from service.scoring.expectations import OccurrenceFacts, Resolution, Resolver
from service.scoring.globs import glob_matches
from service.scoring.policies import Fit, MatchValues, Policies

TRACE = "0af7651916cd43dd8448eb211c80319c"


def an_entry(name: str, *tools: str, **fields: object) -> ExpectationConfig:
    values: dict[str, object] = {"name": name, "expected_tools": list(tools) or None} | fields
    return ExpectationConfig.model_validate(values)


def facts(**fields: object) -> OccurrenceFacts:
    values: dict[str, Any] = {"occurrence": TRACE, "service_name": "shop", "root_span_name": "invoke"} | fields
    return OccurrenceFacts(**values)


def a_block(*expected: str, own: str | None = None, zero: bool = False) -> ToolSelectionAccuracyConfig:
    return ToolSelectionAccuracyConfig(
        expected_tools=expected or None,
        annotations=None if own is None else {TRACE: {"expected_tools": own}},
        treat_no_calls_as_zero=zero,
    )


def provenance(resolution: Resolution) -> tuple[tuple[str, ...], ExpectedSource, str] | None:
    expected = resolution.expected
    return None if expected is None else (expected.names, expected.source, expected.expectation)


POLICY = an_entry("refund", "p")
CONDITIONS = [{"condition_type": "tools_called", "tools": ["c"]}]


SOURCES: dict[str, tuple[str | None, AttributeValue, list[ExpectationConfig], tuple[str, ...], object]] = {
    "annotation first": ("a", "t", [POLICY], ("r",), (("a",), ExpectedSource.ANNOTATION, "annotation")),
    "then attribute": (None, "t", [POLICY], ("r",), (("t",), ExpectedSource.ATTRIBUTE, "attribute")),
    "attribute as a list": (None, ["t", "u"], [POLICY], ("r",), (("t", "u"), ExpectedSource.ATTRIBUTE, "attribute")),
    "then policy": (None, None, [POLICY], ("r",), (("p",), ExpectedSource.POLICY, "refund")),
    "then run": (None, None, [], ("r",), (("r",), ExpectedSource.RUN, "run")),
    "blank annotation falls back": (" \n", None, [POLICY], ("r",), (("p",), ExpectedSource.POLICY, "refund")),
    "blank attribute falls back": (None, "", [], ("r",), (("r",), ExpectedSource.RUN, "run")),
    "policy with conditions only": (
        None,
        None,
        [an_entry("checks", conditions=CONDITIONS)],
        ("r",),
        (("r",), ExpectedSource.RUN, "run"),
    ),
    "nothing": (None, None, [], (), None),
}


@pytest.mark.parametrize(("own", "attribute", "entries", "run", "expected"), SOURCES.values(), ids=SOURCES.keys())
def test_the_first_source_that_says_something_wins(
    own: str | None,
    attribute: AttributeValue,
    entries: list[ExpectationConfig],
    run: tuple[str, ...],
    expected: object,
) -> None:
    resolution = Resolver(a_block(*run, own=own), entries).resolve(facts(attribute_value=attribute))

    assert expected == provenance(resolution)
    assert resolution.failure is None


@pytest.mark.parametrize("own", ["[]", '["a"', '["a", 1]', '["a", " "]', "[" * 100_000, '[["a"]]'], ids=repr)
def test_a_malformed_annotation_fails_its_occurrence_and_does_not_fall_back(own: str) -> None:
    resolver = Resolver(a_block("r", own=own), [POLICY])

    failed, other = resolver.resolve(facts()), resolver.resolve(facts(occurrence="another"))

    assert (Reason.ANNOTATION_INVALID, ExpectedSource.ANNOTATION) == (failed.failure, failed.failed_source)
    assert failed.expected is None
    assert (("p",), ExpectedSource.POLICY, "refund") == provenance(other)


def test_a_malformed_attribute_fails_its_occurrence() -> None:
    for value in ([], ["a", 5], 7, {"a": "b"}, "[]"):
        resolution = Resolver(a_block("r")).resolve(facts(attribute_value=value))

        assert (Reason.ANNOTATION_INVALID, ExpectedSource.ATTRIBUTE) == (resolution.failure, resolution.failed_source)


def test_conditions_resolve_although_the_annotation_is_malformed() -> None:
    entries = [an_entry("checks", conditions=CONDITIONS)]

    resolution = Resolver(a_block(own="[]"), entries).resolve(facts())

    assert resolution.conditions is not None
    assert "checks" == resolution.conditions.expectation


def test_annotations_from_outside_come_before_those_of_the_block_and_may_change() -> None:
    outside: dict[str, dict[str, str]] = {}
    resolver = Resolver(a_block("r", own="block"), annotations=outside)
    assert (("block",), ExpectedSource.ANNOTATION, "annotation") == provenance(resolver.resolve(facts()))

    outside[TRACE] = {"expected_tools": "file", "other_column": "x"}

    assert (("file",), ExpectedSource.ANNOTATION, "annotation") == provenance(resolver.resolve(facts()))


def test_a_session_is_annotated_by_its_bare_id() -> None:
    block = ToolSelectionAccuracyConfig(annotations={"session-1": {"expected_tools": "a"}})
    session = OccurrenceFacts(partition=Partition.SESSION, occurrence="session-1")

    assert (("a",), ExpectedSource.ANNOTATION, "annotation") == provenance(Resolver(block).resolve(session))


@pytest.mark.parametrize(
    ("own", "attribute", "entries", "run", "expected"),
    [
        ("a", None, [], (), True),
        (None, "t", [], (), True),
        (None, None, [POLICY], (), False),
        (None, None, [an_entry("zero", "p", treat_no_calls_as_zero=True)], (), True),
        (None, None, [], ("r",), False),
    ],
    ids=["annotation", "attribute", "policy", "policy with its own flag", "run"],
)
def test_no_calls_may_be_zero_for_expectations_of_the_occurrence_and_by_a_policys_own_flag(
    own: str | None,
    attribute: AttributeValue,
    entries: list[ExpectationConfig],
    run: tuple[str, ...],
    *,
    expected: bool,
) -> None:
    resolution = Resolver(a_block(*run, own=own, zero=True), entries).resolve(facts(attribute_value=attribute))

    assert resolution.expected is not None
    assert expected is resolution.expected.no_calls_are_zero


MATCHES: dict[str, tuple[dict[str, object], bool]] = {
    "empty": ({}, True),
    "service": ({"service_name": "shop"}, True),
    "service differs": ({"service_name": "bank"}, False),
    "alternatives": ({"service_name": ["bank", "sh*"]}, True),
    "agent glob": ({"agent_name": "refund*"}, True),
    "agent differs": ({"agent_name": "refund"}, False),
    "root span name": ({"root_span_name": "*oke"}, True),
    "attribute": ({"attributes": {"tier": "gold"}}, True),
    "attribute of another type": ({"attributes": {"retries": "3", "beta": "true"}}, True),
    "attribute that is a list": ({"attributes": {"tags": "*"}}, False),
    "attribute that is absent": ({"attributes": {"absent": "*"}}, False),
    "resource": ({"resource": {"deployment.environment.name": "prod*"}}, True),
    "resource differs": ({"resource": {"deployment.environment.name": "dev"}}, False),
    "all keys must fit": ({"service_name": "shop", "agent_name": "other"}, False),
}


@pytest.mark.parametrize(("match", "fits"), MATCHES.values(), ids=MATCHES.keys())
def test_an_entry_fits_if_all_its_keys_fit(match: dict[str, object], *, fits: bool) -> None:
    resolution = Resolver(None, [an_entry("p", "a", match=match)]).resolve(
        facts(
            has_agent=True,
            agent_name="refund-bot",
            root_attributes={"tier": "gold", "retries": 3, "beta": True, "tags": ["x"]},
            resource_attributes={"deployment.environment.name": "production"},
        )
    )

    assert fits is (resolution.expected is not None)


def test_the_first_entry_that_fits_gives_both_tools_and_conditions() -> None:
    entries = [
        an_entry("bank", "x", match={"service_name": "bank"}),
        an_entry("shop", conditions=CONDITIONS, match={"service_name": "shop"}),
        an_entry("any", "y"),
    ]

    resolution = Resolver(None, entries).resolve(facts())

    assert resolution.conditions is not None
    assert ("shop", None) == (resolution.conditions.expectation, resolution.expected)


@pytest.mark.parametrize(
    ("partition", "covered"),
    [("trace", [True, False]), ("session", [False, True]), ("both", [True, True])],
    ids=["trace", "session", "both"],
)
def test_an_entry_is_for_its_partition(partition: str, covered: list[bool]) -> None:
    resolver = Resolver(None, [an_entry("p", "a", partition=partition)])

    resolutions = [resolver.resolve(facts(partition=kind)) for kind in (Partition.TRACE, Partition.SESSION)]

    assert covered == [resolution.expected is not None for resolution in resolutions]


READS_THE_ROOT = an_entry("by_root", "root", match={"attributes": {"tier": "gold"}})
READS_THE_AGENT = an_entry("by_agent", "agent", match={"agent_name": "refund*"})
ROOTLESS = {"has_root": False, "root_span_name": ""}

WAITING: dict[str, tuple[list[ExpectationConfig], dict[str, object], bool, object]] = {
    "reads the root": ([READS_THE_ROOT], ROOTLESS, True, None),
    "reads the agent": ([READS_THE_AGENT, POLICY], ROOTLESS, True, None),
    "reads the agent, which is held": (
        [READS_THE_AGENT],
        {**ROOTLESS, "has_agent": True, "agent_name": "refund-bot"},
        False,
        (("agent",), ExpectedSource.POLICY, "by_agent"),
    ),
    "reads the agent, there is none": (
        [READS_THE_AGENT, POLICY],
        {"has_root": True},
        False,
        (("p",), ExpectedSource.POLICY, "refund"),
    ),
    "an earlier entry fits": (
        [POLICY, READS_THE_ROOT],
        ROOTLESS,
        False,
        (("p",), ExpectedSource.POLICY, "refund"),
    ),
    "an earlier entry differs": (
        [an_entry("bank", "x", match={"service_name": "bank"}), READS_THE_ROOT],
        ROOTLESS,
        True,
        None,
    ),
}


@pytest.mark.parametrize(("entries", "given", "pending", "expected"), WAITING.values(), ids=WAITING.keys())
def test_an_entry_that_reads_the_root_waits_for_it(
    entries: list[ExpectationConfig], given: dict[str, object], *, pending: bool, expected: object
) -> None:
    resolution = Resolver(a_block("r") if pending else None, entries).resolve(facts(**given))

    assert pending is resolution.is_pending
    assert expected == provenance(resolution)
    assert resolution.conditions is None


def test_an_annotation_waits_for_no_root() -> None:
    resolution = Resolver(a_block(own="a"), [READS_THE_ROOT]).resolve(facts(**ROOTLESS))

    assert (("a",), ExpectedSource.ANNOTATION, "annotation") == provenance(resolution)


def test_explain_tells_why_each_entry_did_not_fit() -> None:
    entries = [
        an_entry("sessions", "s", partition="session"),
        an_entry("bank", "x", match={"service_name": ["bank", "till*"]}),
        POLICY,
        an_entry("never reached", "y"),
    ]

    fits = Resolver(None, entries).explain(facts())

    assert [Fit.OTHER_PARTITION, Fit.DIFFERS, Fit.FITS] == [fit.fit for fit in fits]
    assert ("service_name", ("bank", "till*"), "shop") == (fits[1].key, fits[1].patterns, fits[1].value)


def match_values(service_name: str) -> MatchValues:
    return MatchValues(
        partition=Partition.TRACE,
        has_root=True,
        has_agent=False,
        service_name=service_name,
        root_span_name="",
        agent_name=None,
    )


def test_the_memo_of_decisions_is_bounded_and_takes_no_long_values() -> None:
    policies = Policies([an_entry("a", "x", match={"service_name": "s1*"})], memo_size=8)

    found = [policies.find(match_values(f"s{number}"))[0] for number in range(100)]
    policies.find(match_values("s" * 100_000))

    assert 11 == sum(entry is not None for entry in found)
    assert 8 == policies.memo_length


GLOBS = {
    ("refund*", "refund-bot"): True,
    ("refund*", "refund"): True,
    ("refund*", "a refund"): False,
    ("*bot", "refund-bot"): True,
    ("*und*", "refund-bot"): True,
    ("a*b*c", "a-b-b-c"): True,
    ("a*b*c", "a-c-b"): False,
    ("ab*ba", "aba"): False,
    ("*", ""): True,
    ("", ""): True,
    ("", "a"): False,
    ("a.c", "abc"): False,
    ("a?c", "abc"): False,
    ("[ab]", "a"): False,
    ("*\n*", "a\nb"): True,
}


@pytest.mark.parametrize(
    ("pattern", "value", "fits"), [(*key, fits) for key, fits in GLOBS.items()], ids=map(str, GLOBS)
)
def test_only_the_star_is_special(pattern: str, value: str, *, fits: bool) -> None:
    assert fits is glob_matches(pattern, value)


def test_a_hostile_value_does_not_slow_a_glob_down() -> None:
    assert not glob_matches("*a" * 30 + "*b", "a" * 200_000)


LISTS = {
    " a ,b\n c,,\n": ("a", "b", "c"),
    '["a", "b, c"]': ("a", "b, c"),
    ' ["a"] ': ("a",),
    "a": ("a",),
    "   ": None,
    ",\n": "should name at least one tool",
    "[]": "should name at least one tool",
    "[1]": "should be a list of tool names",
    "[": "should be a JSON array of tool names",
    ",".join(["a"] * 1_001): "holds too many or too long names",
    "a" * 1_025: "holds too many or too long names",
}


@pytest.mark.parametrize(("text", "expected"), LISTS.items(), ids=[repr(text[:20]) for text in LISTS])
def test_a_list_is_a_json_array_or_split_at_commas_and_lines(text: str, expected: tuple[str, ...] | str | None) -> None:
    if isinstance(expected, str):
        with pytest.raises(AnnotationInvalid, match=expected):
            read_tool_names(text)
    else:
        assert expected == read_tool_names(text)


def test_malformed_annotations_are_told_with_their_path() -> None:
    annotations = {TRACE: {"expected_tools": "a"}, "s1": {"expected_tools": "[]"}, "s2": {"other": "["}}

    assert [("annotations.s1.expected_tools", "should name at least one tool")] == list(
        find_annotation_problems(annotations)
    )


def test_tools_of_a_policy_may_list_arguments() -> None:
    tool = {"name": "a", "arguments": {"x": 1}}
    entry = ExpectationConfig.model_validate({"name": "p", "expected_tools": ["b", tool]})

    resolution = Resolver(None, [entry]).resolve(facts())

    assert resolution.expected is not None
    assert (ToolRequirement(name="b"), ToolRequirement(name="a", arguments={"x": 1})) == resolution.expected.tools
