"""
The evidence store, as configured.
"""

from collections.abc import Mapping
from pathlib import Path

from service.config import ToolScoringConfig
from service.evidence_store.contents import ALWAYS_KEPT, KeptFacts
from service.evidence_store.evidence_file import AppendedFile, EvidenceFile
from service.telemetry.recorder import Recorder


def kept_facts(block: ToolScoringConfig) -> KeptFacts:
    """
    What stored evidence has to keep, so that *block* resolves the same expectation again.
    """
    policy_keys = {key for entry in block.expectations for key in entry.match.resource}
    return KeptFacts(
        resource_keys=ALWAYS_KEPT | policy_keys | set(block.dimensions),
        expected_tools_attribute=block.expected_tools_attribute,
        order_from_embedded_calls=block.order_from_embedded_calls,
    )


def build_evidence_file(
    block: ToolScoringConfig, recorder: Recorder, annotations: Mapping[str, Mapping[str, str]]
) -> EvidenceFile | None:
    """
    The evidence store, if one is configured.
    """
    if block.evidence.file is None:
        return None
    file = AppendedFile(Path(block.evidence.file))
    return EvidenceFile(file, kept_facts(block), recorder, annotations=annotations)
