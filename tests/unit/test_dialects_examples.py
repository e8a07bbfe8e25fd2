"""
The example spans and log records of every dialect become what the dialects reference says they are.
"""

from collections.abc import Mapping
from typing import Any

import pytest
from dialect_views import EXAMPLES, example_log, example_span, examples

from proto_adapters.canonical import CanonicalSpan
from proto_adapters.span_read import read_log, read_span

SPANS = examples("span")
LOGS = examples("log")


def facts_told(span: CanonicalSpan, keys: set[str]) -> dict[str, Any]:
    told = {
        "kind": span.kind.value,
        "rule": span.kind_rule,
        "dialect": span.dialects[0] if span.dialects else None,
        "tool_name": span.tool_name,
        "tool_name_key": span.tool_name_key,
        "call_id": span.tool_call_id,
        "completion": span.completion.value,
        "calls": [[call.name, call.call_id] for call in span.embedded_calls],
        "session": span.session_id,
        "handoff": span.handoff,
        "order_evidence": span.order_evidence,
        "pending_for": span.pending_for.hex() if span.pending_for else None,
        "problems": [problem.value for problem in span.problems],
    }
    return {key: value for key, value in told.items() if key in keys or (key == "problems" and value)}


@pytest.mark.parametrize(("example", "expected"), [case[1:] for case in SPANS], ids=[case[0] for case in SPANS])
def test_an_example_span_is_read_as_its_dialect_means_it(example: Mapping[str, Any], expected: dict[str, Any]) -> None:
    assert facts_told(read_span(example_span(example)), set(expected)) == expected


@pytest.mark.parametrize(("example", "expected"), [case[1:] for case in LOGS], ids=[case[0] for case in LOGS])
def test_an_example_log_record_tells_its_completion(
    example: Mapping[str, Any], expected: Mapping[str, Any] | None
) -> None:
    completion = read_log(example_log(example))

    told = completion and {
        "completion": completion.completion.value,
        "calls": [[call.name, call.call_id] for call in completion.embedded_calls],
    }
    assert told == expected


def test_every_dialect_of_the_reference_has_an_example() -> None:
    assert len(list(EXAMPLES.glob("*.json"))) == 53
