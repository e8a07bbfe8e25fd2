"""
The Anthropic SDK's own spans: recordings of 2.14.0. Reference §3.32. A second model span of every completion.
"""

from proto_adapters.dialects.dialect import Dialect, Recognition

ANTHROPIC_SDK = Dialect(
    id="anthropic_sdk",
    title="Anthropic SDK's own spans",
    reads_from="recordings",
    recognised_by=Recognition(scopes=("com.anthropic.sdk.*",), keys=("anthropic.message.*",)),
    kind_from="gen_ai.operation.name",
    cannot_be_seen=("completions: it never carries messages",),
)
