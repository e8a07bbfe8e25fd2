"""
Stored evidence: what a document holds, what it must not hold, and that an edited one is refused.
"""

import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from processing import Processing
from replaying import stored
from wire_spans import agent, tool

from service.evidence_store.contents import evidence_of, facts_of
from service.evidence_store.documents import LINE_START, EvidenceRefused, decode_document, encode_document

ARGUMENTS = '{"city": "Lisbon", "card": "4111-1111"}'
RULES: dict[str, Any] = {
    "additional_metrics": ["redundancy"],
    "expectations": [
        {
            "name": "plan",
            "match": {"service_name": "sh*", "attributes": {"tenant": "acme"}, "resource": {"service.name": "*"}},
            "expected_tools": ["a", "b"],
            "conditions": [
                {
                    "condition_type": "tools_called",
                    "name": "lisbon",
                    "tools": [{"name": "a", "arguments": {"city": "Lisbon"}, "argument_match": "superset"}],
                },
                {
                    "condition_type": "tools_called",
                    "name": "porto",
                    "tools": [{"name": "a", "arguments": {"city": "Porto"}, "argument_match": "superset"}],
                },
            ],
        }
    ],
}


async def a_closing(*, messages: str = "") -> tuple[Processing, bytes]:
    """
    A trace with arguments and results on its spans, and the line stored of it.
    """
    processing = Processing(**RULES)
    content = {"gen_ai.tool.call.arguments": ARGUMENTS, "gen_ai.tool.call.result": "sunny-secret"}
    await processing.send(
        tool("a", attributes=content),
        tool("a", "again", attributes=content),
        tool("b", attributes={"gen_ai.tool.call.arguments": "{}"}),
        agent(attributes={"tenant": "acme", "gen_ai.input.messages": "tell-me-secret"}),
    )
    await processing.after(5)
    return processing, stored(processing, processing.last)


async def test_evidence_and_facts_come_back_as_they_were_scored() -> None:
    processing, line = await a_closing()
    document = decode_document(line)
    assessment = processing.last.assessment

    evidence, facts = evidence_of(document), facts_of(document)

    assert [(c.name, c.start_ns, c.end_ns, c.status, c.span_id) for c in assessment.evidence.calls] == [
        (c.name, c.start_ns, c.end_ns, c.status, c.span_id) for c in evidence.calls
    ]
    assert assessment.evidence.coverage == evidence.coverage
    assert ("shop", "planner", "agent", {"tenant": "acme"}) == (
        facts.service_name,
        facts.agent_name,
        facts.root_span_name,
        facts.root_attributes,
    )


async def test_evidence_and_score_are_of_the_same_closing() -> None:
    processing, line = await a_closing()
    document = json.loads(line)

    assert {each.name: each.score for each in processing.last.assessment.evaluations} == {
        each["evaluation"]: each["score"] for each in document["results"]
    }
    assert {"tool_selection_accuracy", "redundancy", "lisbon", "porto"} == {
        each["evaluation"] for each in document["results"]
    }


async def test_neither_arguments_nor_content_are_stored() -> None:
    _, line = await a_closing()

    for secret in (b"Lisbon", b"4111", b"sunny", b"tell-me", b"card"):
        assert secret not in line


async def test_what_conditions_asked_of_arguments_is_remembered_without_them() -> None:
    """
    Two calls with equal arguments are one for the redundancy metric, and each rule keeps its answer.
    """
    processing, line = await a_closing()
    answers = {each.name: each.label or each.score for each in processing.last.assessment.evaluations}

    calls = decode_document(line).calls

    assert {"lisbon": "true", "porto": "false"} == {name: answers[name] for name in ("lisbon", "porto")}
    assert [0, 0, 1] == sorted(
        call.arguments.group for call in calls if call.arguments and call.arguments.group is not None
    )
    assert all(call.arguments and 2 == len(call.arguments.answers) for call in calls)


async def test_a_line_tells_at_its_beginning_what_it_is() -> None:
    _, line = await a_closing()

    assert line.startswith(LINE_START)
    assert line.endswith(b"}\n")


EDITS: dict[str, Callable[[dict[str, object]], object]] = {
    "a call less": lambda document: document["calls"].pop(),  # type: ignore[attr-defined]
    "coverage": lambda document: document["coverage"].update(reasons=["late_span"]),  # type: ignore[attr-defined]
    "occurrence": lambda document: document.update(occurrence="00" * 16),
    "a member more": lambda document: document.update(comment="fine"),
    "digest": lambda document: document.update(sha256="00" * 32),
    "no digest": lambda document: document.pop("sha256"),
    "trigger": lambda document: document.update(trigger="late_span"),
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS.keys())
async def test_an_edited_document_is_refused(edit: Callable[[dict[str, object]], object]) -> None:
    _, line = await a_closing()
    document = json.loads(line)
    edit(document)

    with pytest.raises(EvidenceRefused, match="changed after it was written"):
        decode_document(json.dumps(document).encode())


async def test_another_order_of_members_is_the_same_document() -> None:
    _, line = await a_closing()
    reordered = json.dumps(json.loads(line), indent=None, sort_keys=True).encode()

    assert reordered != line
    assert decode_document(line) == decode_document(reordered)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"", "is not JSON"),
        (b"[]", "should be a JSON object"),
        (b'{"schema": "other"}', "schema should be toolscore.evidence"),
        (b'{"schema": "toolscore.evidence", "version": 2}', "of a version that this release does not read"),
        (b'{"schema": "toolscore.evidence", "version": 1}', "changed after it was written"),
    ],
)
def test_what_is_no_document_is_refused_with_its_reason(line: bytes, reason: str) -> None:
    with pytest.raises(EvidenceRefused, match=reason):
        decode_document(line)


async def test_a_document_that_fits_its_digest_is_still_checked() -> None:
    """
    The digest is no signature: whoever wrote a wrong value with the right digest gets the path of it.
    """
    _, line = await a_closing()
    document = msgspec.structs.replace(decode_document(line), nameless_calls=-1)

    with pytest.raises(EvidenceRefused, match=r"nameless_calls"):
        decode_document(encode_document(document))
