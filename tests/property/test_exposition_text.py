"""
Whatever a sender calls his agents and services, the text stays readable and says the same.
"""

import msgspec
from doubles import ManualClock
from every_count import SUBJECT, a_score
from hypothesis import given
from hypothesis import strategies as st
from prometheus_text import read_openmetrics, read_plain

from service.telemetry.exposition import expose
from service.telemetry.otel_recorder import OtelRecorder

TEXTS = st.text(max_size=30)


@given(agents=st.lists(TEXTS, max_size=5, unique=True), tenant=TEXTS)
def test_any_text_survives_as_a_label(agents: list[str], tenant: str) -> None:
    recorder = OtelRecorder(ManualClock(), dimensions=("tenant",))
    for agent in agents:
        subject = msgspec.structs.replace(SUBJECT, agent_name=agent, dimensions=(("tenant", tenant),))
        recorder.scored(a_score(missing=()), subject, enters_histogram=True)
    collected = recorder.collect()

    for families in (
        read_openmetrics(expose(collected, openmetrics=True)),
        read_plain(expose(collected, openmetrics=False)),
    ):
        samples = [one for family in families for one in family.samples if one.name == "toolscore_evaluations_total"]

        assert sorted(agents) == sorted(one.labels.get("gen_ai_agent_name", "") for one in samples)
        assert {tenant} >= {one.labels.get("tenant", "") for one in samples}
