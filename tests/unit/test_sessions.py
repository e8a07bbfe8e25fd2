"""
Sessions through the processor: several traces of one conversation are scored together, told apart and revised.
"""

import pytest
from processing import Processing, plain
from recorded import BUNDLES, Recording, recordings
from wire_spans import agent, span_id, tool, wire_span

from service.evidence import Partition, Trigger
from service.pipeline import Signal
from service.processor.outputs import Scored

IDLE = 1_800
EXPECTATIONS = [{"name": "trip", "partition": "session", "expected_tools": ["a", "b"]}]
BOTH = {"name": "trip", "partition": "both", "expected_tools": ["a", "b"]}


def trace_id(number: int) -> bytes:
    return number.to_bytes(16, "big")


async def turn(
    processing: Processing, number: int, *names: str, session: object = "s", service: str = "shop", key: str = ""
) -> None:
    """
    One agent run of the session, one after the other in time, closed by its root.
    """
    attributes = {key or "gen_ai.conversation.id": session}
    start = 200 * number
    tools = [tool(name, f"{name}{number}", trace=trace_id(number), start=start, end=start + 1) for name in names]
    run = agent(trace=trace_id(number), attributes=attributes, start=start, end=start + 100)
    await processing.send(*tools, run, service=service)
    await processing.after(5)


def a_processing(**tool_scoring: object) -> Processing:
    """
    With sessions, a while after its start, so that none of them may be older than the process.
    """
    session: object = {"enabled": True} | dict(tool_scoring.pop("session", {}))  # type: ignore[call-overload]
    values = {"tool_selection_accuracy": {}, "expectations": EXPECTATIONS} | tool_scoring | {"session": session}
    processing = Processing(**values)  # type: ignore[arg-type] # plain values of a configuration
    processing.clock.advance(IDLE * 1_000_000_000)
    return processing


def sessions(processing: Processing) -> list[Scored]:
    return [closing for closing in processing.closings if closing.assessment.partition is Partition.SESSION]


def scores(processing: Processing) -> list[tuple[str, Trigger, float | None, list[str]]]:
    """
    (session, trigger, score, coverage reasons) of every closing of a session.
    """
    return [
        (
            closing.assessment.occurrence,
            closing.trigger,
            closing.assessment.evaluations[0].score,
            [str(reason) for reason in closing.assessment.evidence.coverage.reasons],
        )
        for closing in sessions(processing)
    ]


async def test_turns_are_scored_together_when_the_session_falls_silent() -> None:
    processing = a_processing()
    await turn(processing, 1, "a")
    await turn(processing, 2, "b")

    await processing.after(IDLE - 10)
    assert [] == scores(processing)

    await processing.after(10)
    assert [("shop/s", Trigger.IDLE_TIMEOUT, 1.0, [])] == scores(processing)


async def test_events_name_their_session_whatever_the_spans_call_its_attribute() -> None:
    processing = a_processing(session={"enabled": True, "keys": ["chat.id"]}, expectations=[BOTH])
    await turn(processing, 1, "a", session=7, key="chat.id")

    await processing.after(IDLE)

    assert [("trace", None), ("session", "7")] == [
        (facts["toolscore.partition"], facts.get("gen_ai.conversation.id"))
        for facts in ({each.key: plain(each.value) for each in event.attributes} for event in processing.events)
    ]


async def test_a_policy_for_sessions_scores_no_turn_by_itself() -> None:
    processing = a_processing()
    await turn(processing, 1, "a")
    await turn(processing, 2, "b")
    await processing.after(IDLE)

    (event,) = processing.events
    values = {each.key: plain(each.value) for each in event.attributes}
    assert (trace_id(2), span_id("agent")) == (event.trace_id, event.span_id)
    assert ("session", 0, "tool_spans", "trip") == tuple(
        values[f"toolscore.{key}"] for key in ("partition", "revision", "shape", "expectation")
    )
    assert values["toolscore.final"] is False, "it may go on"
    (labels,) = processing.counted("toolscore.evaluations")
    assert "session" == dict(labels)["partition"]


async def test_a_policy_for_both_scores_turns_and_session() -> None:
    processing = a_processing(expectations=[EXPECTATIONS[0] | {"partition": "both"}])
    await turn(processing, 1, "a")
    await turn(processing, 2, "b")
    await processing.after(IDLE)

    assert [0.5, 0.5, 1.0] == [closing.assessment.evaluations[0].score for closing in processing.closings]
    assert 3 == len({delivery.idempotency_id for closing in processing.closings for delivery in closing.deliveries})


async def test_a_session_may_be_told_as_a_span_under_its_latest_root() -> None:
    processing = a_processing(evaluation_span=True)
    await turn(processing, 1, "a")
    await turn(processing, 2, "b")
    await processing.after(IDLE)

    (told,) = (span for span in processing.released if span.name == "toolscore evaluation")
    assert (trace_id(2), span_id("agent")) == (told.trace_id, told.parent_span_id)


async def test_a_session_that_resumes_is_revised() -> None:
    processing = a_processing()
    await turn(processing, 1, "a")
    await processing.after(IDLE)
    await turn(processing, 2, "b")
    await processing.after(IDLE)

    assert [0.5, 1.0] == [score for _, _, score, _ in scores(processing)]
    assert [0, 1] == [closing.revision for closing in sessions(processing)]


async def test_a_session_that_is_told_again_without_news_is_not_delivered_again() -> None:
    processing = a_processing()
    await turn(processing, 1, "a", "b")
    await processing.after(IDLE)
    await turn(processing, 2)
    await turn(processing, 3, "a")
    await processing.after(IDLE)

    assert [1, 0] == [len(closing.deliveries) for closing in sessions(processing)]


async def test_a_late_span_revises_its_session() -> None:
    processing = a_processing()
    await turn(processing, 1, "a")
    await processing.send(tool("b", "late", trace=trace_id(1), start=200, end=201))
    await processing.after(5)
    await processing.after(IDLE)

    assert [("shop/s", Trigger.IDLE_TIMEOUT, 1.0, ["late_span"])] == scores(processing)


async def test_what_comes_long_after_starts_a_session_anew() -> None:
    processing = a_processing()
    await turn(processing, 1, "a")
    await processing.after(IDLE)
    await processing.after(IDLE)
    await turn(processing, 2, "b")
    await processing.after(IDLE)

    assert [[], ["reopened"]] == [reasons for *_, reasons in scores(processing)]
    assert [0.5, 0.5] == [score for _, _, score, _ in scores(processing)]


async def test_two_services_with_the_same_id_are_kept_apart() -> None:
    processing = a_processing()
    await turn(processing, 1, "a", session="1", service="shop")
    await turn(processing, 2, "b", session="1", service="bank")
    await processing.after(IDLE)

    assert [("shop/1", 0.5), ("bank/1", 0.5)] == [(name, score) for name, _, score, _ in scores(processing)]


async def test_configured_keys_take_the_place_of_the_known_ones_in_their_order() -> None:
    processing = a_processing(session={"keys": ["chat.id", "session.id"]})
    await turn(processing, 1, "a", session="s", key="gen_ai.conversation.id")
    await turn(processing, 2, "a", session=7, key="chat.id")
    await turn(processing, 3, "b", session="7", key="session.id")
    await processing.after(IDLE)

    assert [("shop/7", 1.0)] == [(name, score) for name, _, score, _ in scores(processing)]


async def test_a_key_on_a_plain_span_counts_where_it_is_configured() -> None:
    processing = a_processing(session={"keys": ["chat.id"]})
    await processing.send(
        wire_span("request", attributes={"chat.id": "s"}, end=200), agent(parent="request"), tool("a"), tool("b")
    )
    await processing.after(5)
    await processing.after(IDLE)

    assert [("shop/s", 1.0)] == [(name, score) for name, _, score, _ in scores(processing)]


async def test_annotations_name_the_session_and_a_late_one_revises() -> None:
    processing = a_processing(tool_selection_accuracy={"annotations": {"s": {"expected_tools": "a,b,c"}}})
    await turn(processing, 1, "a")
    await processing.after(IDLE)
    processing.annotations["s"] = {"expected_tools": "a"}
    processing.processor.annotation_changed("s")
    await processing.after(1)

    first, second = sessions(processing)
    assert (1 / 3, "annotation") == (first.assessment.evaluations[0].score, first.assessment.evaluations[0].expectation)
    assert (1.0, 1) == (second.assessment.evaluations[0].score, second.revision)


@pytest.mark.parametrize(
    ("limits", "trigger", "reason"),
    [
        ({"max_traces_per_session": 2}, Trigger.SPAN_LIMIT, "span_limit"),
        ({"max_sessions": 1}, Trigger.EVICTION, "evicted"),
        ({"max_duration": "30m", "idle_timeout": "30m"}, Trigger.TRACE_TIMEOUT, "not_closed_by_root"),
    ],
    ids=str,
)
async def test_a_session_over_a_limit_is_partial(limits: dict[str, object], trigger: Trigger, reason: str) -> None:
    processing = a_processing(session=limits)
    for number in (1, 2, 3):
        await turn(processing, number, "a")
    await turn(processing, 4, "a", session="other")
    await processing.after(IDLE - 10)

    assert ("shop/s", trigger, 0.5, [reason]) == scores(processing)[0]
    assert all(delivery.is_final for delivery in sessions(processing)[0].deliveries)


async def test_shutdown_scores_sessions_that_are_open() -> None:
    processing = a_processing()
    await turn(processing, 1, "a")
    await processing.send(agent(trace=trace_id(2), attributes={"gen_ai.conversation.id": "s"}))
    await processing.processor.shutdown()

    assert [("shop/s", Trigger.SHUTDOWN, 0.5, ["not_closed_by_root"])] == scores(processing)


async def test_a_turn_that_was_evicted_without_a_score_leaves_the_session_partial() -> None:
    processing = a_processing(num_traces=1, eviction={"policy": "forward_unscored"})
    await processing.send(
        tool("a", trace=trace_id(1)), agent(trace=trace_id(1), attributes={"gen_ai.conversation.id": "s"})
    )
    await turn(processing, 2, "b")
    await processing.after(IDLE)

    assert [("shop/s", Trigger.IDLE_TIMEOUT, 0.5, ["evidence_released"])] == scores(processing)
    assert not sessions(processing)[0].assessment.evidence.all_requests_linked


async def test_a_session_right_after_the_start_may_be_older_than_the_process() -> None:
    processing = Processing(tool_selection_accuracy={}, expectations=EXPECTATIONS, session={"enabled": True})
    await turn(processing, 1, "a")
    await processing.after(IDLE)

    assert [["restarted"]] == [reasons for *_, reasons in scores(processing)]


async def test_a_flood_of_sessions_is_evicted_with_a_score_before_memory_is_full() -> None:
    processing = a_processing(max_buffer_mib=1)
    for number in range(1, 401):
        await turn(processing, number, "a", session=f"s{number}")

    evicted = [closing for closing in sessions(processing) if closing.trigger is Trigger.EVICTION]
    assert 100 < len(evicted) < 400
    assert {400 - len(evicted)} == set(processing.counted("toolscore.sessions.active").values())
    assert all(size < 1024 * 1024 for size in processing.counted("toolscore.processor.buffer_size").values())


async def test_traces_without_a_session_id_and_sessions_without_tools_are_not_told() -> None:
    processing = a_processing()
    await processing.send(tool("a"), agent())
    await processing.after(5)
    await turn(processing, 1, session="idle talk")
    await processing.after(IDLE)

    assert [] == sessions(processing)


UNSEEN = {"python/haystack-openinference", "javascript/openai-otel-latest"}
"""There neither tool executions nor completions can be read."""
MULTI_TURN = [
    recorded
    for bundle in BUNDLES
    for recorded in recordings(bundle)
    if recorded.scenario == "multi_turn" and recorded.truth.session_ids and bundle not in UNSEEN
]


@pytest.mark.parametrize("recorded", MULTI_TURN, ids=lambda recorded: recorded.id)
async def test_the_turns_of_a_recorded_session_called_all_tools_together(recorded: Recording) -> None:
    tools = ["search_flights", "get_weather", "book_hotel"]
    policy = {"name": "trip", "partition": "session", "expected_tools": tools}
    processing = a_processing(expectations=[policy], tool_name_aliases=True)
    for request in recorded.requests:
        await processing.processor.consume(Signal.TRACES, request)
    for request in recorded.log_requests:
        await processing.processor.consume(Signal.LOGS, request)
    await processing.after(301)
    await processing.after(IDLE)

    (session,) = sessions(processing)
    assert session.assessment.occurrence.partition("/")[2] in recorded.truth.session_ids
    assert 1.0 == session.assessment.evaluations[0].score
    turns = [closing for closing in processing.closings if closing.assessment.partition is Partition.TRACE]
    assert [] == [delivery for closing in turns for delivery in closing.deliveries]
