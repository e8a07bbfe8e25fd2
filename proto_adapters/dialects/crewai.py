"""
CrewAI: source. Reference §3.20. Its own scope is product telemetry and is ignored (X4).
"""

from typing import Final

from proto_adapters.dialects.dialect import Dialect, Recognition

PRODUCT_TELEMETRY: Final = "crewai.telemetry"

CREWAI = Dialect(
    id="crewai_native",
    title="CrewAI (product telemetry)",
    reads_from="source, recordings",
    recognised_by=Recognition(scopes=(PRODUCT_TELEMETRY,)),
    kind_from="nothing: its spans are ignored",
    cannot_be_seen=("tool calls: real tool spans come from OpenInference, OpenLIT or ADOT",),
)
