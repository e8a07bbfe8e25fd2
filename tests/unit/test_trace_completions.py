"""
Completions of one trace: what log records add to them and which spans repeat them (dialects reference §5.4, §5.5).
"""

from typing import Any

import pytest
from builders import a_call, a_trace, asked_for, at, unreadable

from proto_adapters.canonical import CompletionState, Problem, SpanKind

HIDDEN, NONE, READ, STALE = (
    CompletionState.HIDDEN,
    CompletionState.NONE,
    CompletionState.READ,
    CompletionState.STALE,
)


class TestLogRecords:
    def test_a_log_record_makes_a_hidden_completion_readable(self) -> None:
        problem: dict[str, Any] = {
            "problems": (Problem.DIALECT_CONFLICT, Problem.COMPLETION_HIDDEN),
            "problem_details": ("a", "b"),
        }
        trace = a_trace().agent().llm(completion=HIDDEN, label="chat", **problem).log("chat", "x", "y").assembled()

        assert asked_for(trace) == ["x", "y"]
        assert unreadable(trace) == 0
        assert trace.spans[1].problems == (Problem.DIALECT_CONFLICT,)
        assert trace.spans[1].problem_details == ("a",)

    def test_calls_on_the_span_win_over_calls_in_log_records(self) -> None:
        trace = a_trace().agent().llm(a_call("x", "call_1"), label="chat").log("chat", "x").assembled()

        assert [(call.name, call.call_id) for _, call in trace.embedded] == [("x", "call_1")]

    def test_records_of_several_choices_are_added_and_repeated_calls_are_merged(self) -> None:
        trace = (
            a_trace()
            .agent()
            .llm(completion=HIDDEN, label="chat")
            .log("chat", a_call("x", "call_1"), a_call("y", None, index=1))
            .log("chat", a_call("x", "call_1"), a_call("y", "call_2", index=1), a_call("z", candidate=1))
            .log("chat", a_call("x", "call_1"), a_call("y", None, index=1))
            .assembled()
        )

        assert [(call.name, call.call_id) for _, call in trace.embedded] == [
            ("x", "call_1"),
            ("y", "call_2"),
            ("z", None),
        ]

    def test_a_call_that_two_records_place_differently_is_one_call(self) -> None:
        trace = (
            a_trace()
            .agent()
            .llm(completion=HIDDEN, label="chat")
            .log("chat", a_call("x", "call_1"))
            .log("chat", a_call("x", "call_1", index=1))
            .assembled()
        )

        assert [call.index for call in trace.spans[1].embedded_calls] == [0]

    @pytest.mark.parametrize(
        ("on_span", "in_log", "state"),
        [
            (HIDDEN, READ, READ),
            (NONE, HIDDEN, HIDDEN),
            (READ, HIDDEN, READ),
            (CompletionState.TRUNCATED, READ, READ),
            (STALE, READ, STALE),
        ],
    )
    def test_a_completion_is_known_as_well_as_its_best_source(
        self, on_span: CompletionState, in_log: CompletionState, state: CompletionState
    ) -> None:
        trace = a_trace().agent().llm(completion=on_span, label="chat").log("chat", completion=in_log).assembled()

        assert trace.spans[1].completion is state

    def test_a_log_record_never_makes_a_call_of_another_span(self) -> None:
        builder = a_trace().agent(label="agent").log("agent", "x")

        assert builder.assembled().embedded == ()
        assert builder.assembled().spans[0].embedded_calls == ()


class TestRepeatedCompletions:
    def test_one_response_id_is_one_completion_read_from_the_best_span(self) -> None:
        trace = (
            a_trace()
            .agent()
            .llm(completion=HIDDEN, response_id="msg_1")
            .llm(a_call("x", "call_1"), response_id="msg_1")
            .assembled()
        )

        assert asked_for(trace) == ["x"]
        assert unreadable(trace) == 0

    def test_one_response_id_with_different_calls_is_no_repetition(self) -> None:
        trace = a_trace().agent().llm("x", response_id="mock").llm("y", response_id="mock").assembled()

        assert asked_for(trace) == ["x", "y"]

    @pytest.mark.parametrize("outer_reads", [True, False])
    def test_a_hidden_duplicate_never_makes_the_trace_partial(self, *, outer_reads: bool) -> None:
        builder = a_trace().agent()
        if outer_reads:
            builder.llm("x", label="outer").llm(completion=HIDDEN, under="outer")
        else:
            builder.llm(completion=HIDDEN, label="outer").llm("x", under="outer")

        assert asked_for(builder.assembled()) == ["x"]
        assert unreadable(builder.assembled()) == 0

    @pytest.mark.parametrize(
        ("own", "hidden"),
        [
            pytest.param({"start": 1, "end": 9}, 0, id="inside its only sibling"),
            pytest.param({"start": 1, "end": 12}, 1, id="longer than its sibling"),
            pytest.param({"start": 41, "end": 42}, 1, id="inside a sibling with a response id of its own"),
            pytest.param({"start": 22, "end": 23}, 1, id="inside two siblings"),
            pytest.param({"start": 1, "end": 9, "dialects": ("otel_genai_messages",)}, 1, id="of an instrumentation"),
        ],
    )
    def test_a_clients_own_span_repeats_the_one_instrumented_request_around_it(
        self, own: dict[str, Any], hidden: int
    ) -> None:
        trace = (
            a_trace()
            .agent()
            .llm("x", end=10)
            .llm("y", start=20, end=30)
            .llm("z", start=21, end=25)
            .llm(start=40, end=50, response_id="other")
            .llm(**({"completion": HIDDEN, "dialects": ("anthropic_sdk",)} | own))
            .assembled()
        )

        assert unreadable(trace) == hidden
        assert asked_for(trace) == ["x", "y", "z"]

    def test_the_same_call_read_from_two_nested_spans_counts_once(self) -> None:
        trace = (
            a_trace().agent().llm("x", label="outer").chain(under="outer", label="c").llm("x", under="c").assembled()
        )

        assert asked_for(trace) == ["x"]

    def test_a_span_around_several_completions_counts_none_of_its_own(self) -> None:
        trace = (
            a_trace()
            .agent()
            .llm("y", label="loop", end=20)
            .llm("x", start=1, under="loop")
            .llm("y", start=2, under="loop")
            .assembled()
        )

        assert asked_for(trace) == ["x", "y"]

    @pytest.mark.parametrize(
        ("outer", "inner", "requests"),
        [
            pytest.param(["x"], [["y"]], ["x", "y"], id="different calls"),
            pytest.param(["x", "y"], [["z"]], ["x", "y", "z"], id="more calls, but others"),
            pytest.param(["x", "y"], [["x"]], ["x", "y"], id="the outer tells more"),
            pytest.param(["x"], [["x"], ["x"]], ["x", "x"], id="the inner ones tell more"),
        ],
    )
    def test_nested_completions_with_calls_of_their_own_are_several(
        self, outer: list[str], inner: list[list[str]], requests: list[str]
    ) -> None:
        builder = a_trace().agent().llm(*outer, label="outer", end=20)
        for place, calls in enumerate(inner):
            builder.llm(*calls, start=place + 1, under="outer")

        assert asked_for(builder.assembled()) == requests

    def test_a_span_that_sums_up_several_completions_is_not_when_they_were_asked_for(self) -> None:
        trace = (
            a_trace()
            .agent()
            .llm("x", "y", label="loop", end=20)
            .llm("x", start=1, under="loop")
            .llm("y", start=2, under="loop")
            .assembled()
        )

        assert [span.start_ns for span, _ in trace.embedded] == [at(1), at(2)]

    def test_what_is_asked_inside_a_run_is_no_repetition_of_what_asked_for_the_run(self) -> None:
        trace = (
            a_trace()
            .agent()
            .llm("x", label="outer")
            .llm(under="outer", label="run", completion=STALE)
            .llm("x", under="run")
            .assembled()
        )

        assert asked_for(trace) == ["x", "x"]

    def test_a_hidden_completion_beside_readable_ones_below_one_span_stays_hidden(self) -> None:
        trace = (
            a_trace()
            .agent()
            .llm(label="loop", end=20)
            .llm("x", start=1, under="loop")
            .llm(start=2, under="loop", completion=HIDDEN)
            .assembled()
        )

        assert asked_for(trace) == ["x"]
        assert unreadable(trace) == 1

    @pytest.mark.parametrize("between", [SpanKind.AGENT, SpanKind.TOOL])
    def test_a_model_asked_by_an_agent_or_tool_below_a_model_span_answers_for_itself(self, between: SpanKind) -> None:
        trace = (
            a_trace()
            .agent()
            .llm("x", label="outer")
            .span(between, under="outer", label="between", tool_name="t")
            .llm("x", under="between")
            .assembled()
        )

        assert asked_for(trace) == ["x", "x"]

    def test_every_repetition_names_the_span_that_counts(self) -> None:
        builder = (
            a_trace()
            .agent()
            .llm("x", label="outer")
            .llm(completion=HIDDEN, under="outer", label="middle")
            .llm(completion=HIDDEN, under="middle", label="inner")
        )

        repeated = {span.duplicate_of for span in builder.assembled().spans if span.duplicate_of}
        assert repeated == {builder.id_of("outer")}

    def test_the_same_call_id_in_two_completions_is_one_request(self) -> None:
        call = a_call("x", "call_1")

        assert asked_for(a_trace().agent().llm(call, start=1).llm(call, start=2).assembled()) == ["x"]
        assert asked_for(a_trace().agent().llm("x", start=1).llm("x", start=2).assembled()) == ["x", "x"]

    def test_calls_of_unreadable_completions_are_not_asked_for(self) -> None:
        assert a_trace().agent().llm("x", completion=CompletionState.TRUNCATED).assembled().embedded == ()
