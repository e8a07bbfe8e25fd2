"""
Annotations that come before, between and after the spans of their occurrence.
"""

from processing import Processing
from wire_spans import TRACE, agent, chat, log_request, span_id, tool

from service.evidence import Trigger
from service.pipeline import Signal

AGENT_RUNS = [{"attribute": "gen_ai.operation.name", "values": ["invoke_agent"]}]
CALLS_B = '[{"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "b", "arguments": {}}]}]'
ID = TRACE.hex()


def annotate(processing: Processing, names: str, occurrence: str = ID) -> None:
    processing.annotations[occurrence] = {"expected_tools": names}
    processing.processor.annotation_changed(occurrence)


async def test_an_annotation_that_comes_first_waits_for_its_trace() -> None:
    processing = Processing()
    annotate(processing, "a")

    await processing.send(tool("a"), agent())
    await processing.after(5)

    assert ("annotation", 1.0) == (processing.evaluation().expectation, processing.evaluation().score)


async def test_an_annotation_that_comes_late_revises_the_result() -> None:
    """
    A closed trace is scored again under it: revision 1 of the same evaluation, with complete coverage still.
    """
    processing = Processing()
    await processing.send(tool("a"), agent())
    await processing.after(5)
    assert 0.5 == processing.evaluation().score

    annotate(processing, "a")
    await processing.after(5)

    assert (1.0, 1, Trigger.LATE_SPAN, []) == (
        processing.evaluation().score,
        processing.last.revision,
        processing.last.trigger,
        processing.reasons,
    )
    assert 2 == len(processing.events)


async def test_an_annotation_that_changes_nothing_is_not_delivered_again() -> None:
    processing = Processing()
    annotate(processing, "a")
    await processing.send(tool("a"), agent())
    await processing.after(5)

    annotate(processing, '["a"]')
    await processing.after(5)

    assert (1, 0) == (len(processing.events), processing.last.revision)


async def test_annotations_within_one_delay_make_one_revision() -> None:
    processing = Processing()
    await processing.send(tool("a"), agent())
    await processing.after(5)

    annotate(processing, "z")
    annotate(processing, "a")
    await processing.after(5)

    assert (2, 1, 1.0) == (len(processing.events), processing.last.revision, processing.evaluation().score)


async def test_an_annotation_of_an_open_trace_counts_at_its_closing() -> None:
    processing = Processing()
    await processing.send(tool("a"), agent())

    annotate(processing, "a")
    await processing.after(5)

    assert (1, 1.0) == (len(processing.closings), processing.evaluation().score)


async def test_an_annotation_of_another_trace_or_of_a_session_changes_nothing() -> None:
    processing = Processing()
    await processing.send(tool("a"), agent())
    await processing.after(5)

    annotate(processing, "a", "00" * 16)
    annotate(processing, "a", "session-1")
    await processing.after(5)

    assert 1 == len(processing.closings)


async def test_an_annotation_that_cannot_be_read_fails_its_occurrence_only() -> None:
    processing = Processing()
    annotate(processing, "[1")
    await processing.send(tool("a"), agent())
    await processing.send(tool("a", trace=b"U" * 16), agent(trace=b"U" * 16))

    await processing.after(5)

    assert {ID: "failed", (b"U" * 16).hex(): "scored"} == {
        closing.assessment.occurrence: closing.assessment.evaluations[0].status for closing in processing.closings
    }


async def test_a_revision_of_a_provisional_result_is_not_final() -> None:
    processing = Processing()
    await processing.send(tool("a"))
    await processing.after(60)

    annotate(processing, "a")
    await processing.after(5)

    assert [False, False] == [delivery.is_final for closing in processing.closings for delivery in closing.deliveries]


async def test_a_late_annotation_revises_every_agent_run_of_its_trace() -> None:
    """
    With attribute roots the trace is still open when its runs were delivered; nothing in them is late.
    """
    processing = Processing(root_span_condition=AGENT_RUNS)
    await processing.send(tool("a", parent="one"), agent("one", "gone"), tool("b", parent="two"), agent("two", "gone"))
    await processing.after(5)

    annotate(processing, "a")
    await processing.after(5)

    revised = processing.closings[2:]
    assert {span_id("one").hex(): 1.0, span_id("two").hex(): 0.0} == {
        closing.assessment.occurrence[-16:]: closing.assessment.evaluations[0].score for closing in revised
    }
    assert [((), 1), ((), 1)] == [
        (closing.assessment.evidence.coverage.reasons, closing.revision) for closing in revised
    ]


async def test_a_late_log_revises_an_agent_run_too() -> None:
    processing = Processing(root_span_condition=AGENT_RUNS)
    await processing.send(chat(parent="one"), agent("one", "gone"))
    await processing.after(5)
    assert ["completion_hidden"] == processing.reasons

    log = log_request("chat", "gen_ai.client.inference.operation.details", {"gen_ai.output.messages": CALLS_B})
    await processing.processor.consume(Signal.LOGS, log)
    await processing.after(5)

    assert (0.5, []) == (processing.evaluation().score, processing.reasons)


async def test_a_span_that_came_late_stays_late_when_an_annotation_follows() -> None:
    processing = Processing(root_span_condition=AGENT_RUNS)
    await processing.send(tool("a", parent="one"), agent("one", "gone"))
    await processing.after(5)
    await processing.send(tool("b", "late", parent="one"))
    await processing.after(5)

    annotate(processing, "b")
    await processing.after(5)

    assert ["late_span"] == processing.reasons
