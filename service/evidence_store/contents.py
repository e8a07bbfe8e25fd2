"""
From an assessment to the document that is stored of it, and from a document back to what scorers read.

Pure. What comes back gives the same evaluations under the same configuration, and honest ones under any other: what was
not stored (arguments, attributes that no policy read) is unknown then, never absent.
"""

import json
from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from proto_adapters.canonical import Attributes, AttributeValue, ToolCall
from service.conditions import LeafCondition, ToolRequirement, walk
from service.evaluation import Evaluation
from service.evidence import Coverage, ToolEvidence, Trigger
from service.evidence_store.documents import (
    EvidenceDocument,
    StoredArguments,
    StoredCall,
    StoredCoverage,
    StoredFacts,
    StoredResult,
)
from service.scoring.annotations import AnnotationInvalid, read_tool_names
from service.scoring.arguments import RememberedArguments, arguments_match, read_arguments, rule_id
from service.scoring.assessment import Assessment
from service.scoring.expectations import OccurrenceFacts, Resolution
from service.scoring.policies import as_text

ALWAYS_KEPT = frozenset(
    {"service.namespace", "service.version", "deployment.environment.name", "deployment.environment"}
)
"""Resource attributes that later policies are likely to read."""


class KeptFacts(Struct, frozen=True):
    """
    What of the configuration decides what is stored.
    """

    resource_keys: frozenset[str] = ALWAYS_KEPT
    expected_tools_attribute: str | None = None
    order_from_embedded_calls: bool = False


def document_of(
    assessment: Assessment,
    trigger: Trigger,
    *,
    revisions: Mapping[str, int],
    annotation: Mapping[str, str] | None,
    kept: KeptFacts,
) -> EvidenceDocument:
    """
    What is stored of one closing. *revisions* are those of its evaluations, by name.
    """
    evidence = assessment.evidence
    memory = _ArgumentMemory(assessment.resolution, (*evidence.calls, *evidence.embedded_calls))
    return EvidenceDocument(
        partition=assessment.partition,
        occurrence=assessment.occurrence,
        trigger=trigger,
        revision=max(revisions.values(), default=0),
        shapes=evidence.shapes,
        coverage=_stored_coverage(evidence.coverage),
        calls=tuple(_stored_call(call, memory) for call in evidence.calls),
        called_names=evidence.called_names,
        embedded_calls=tuple(_stored_call(call, memory) for call in evidence.embedded_calls),
        nameless_calls=evidence.nameless_calls,
        requested_names=evidence.requested_names,
        has_tool_evidence=evidence.has_tool_evidence,
        observed_call_count=evidence.observed_call_count,
        all_requests_linked=evidence.all_requests_linked,
        resolution_ns=evidence.resolution_ns,
        order_from_embedded_calls=kept.order_from_embedded_calls,
        facts=_stored_facts(assessment.facts, annotation, kept),
        results=tuple(_stored_result(each, revisions.get(each.name, 0)) for each in assessment.evaluations),
    )


def evidence_of(document: EvidenceDocument) -> ToolEvidence:
    """
    The evidence that *document* holds.
    """
    return ToolEvidence(
        partition=document.partition,
        shapes=document.shapes,
        calls=tuple(map(_call_of, document.calls)),
        called_names=document.called_names,
        embedded_calls=tuple(map(_call_of, document.embedded_calls)),
        nameless_calls=document.nameless_calls,
        requested_names=document.requested_names,
        has_tool_evidence=document.has_tool_evidence,
        observed_call_count=document.observed_call_count,
        all_requests_linked=document.all_requests_linked,
        coverage=Coverage(document.coverage.reasons, document.coverage.basis),
        resolution_ns=document.resolution_ns,
    )


def facts_of(document: EvidenceDocument) -> OccurrenceFacts:
    """
    What decides the expectation of the stored occurrence.
    """
    facts = document.facts
    return OccurrenceFacts(
        partition=document.partition,
        occurrence=facts.annotated_as,
        service_name=facts.service_name,
        has_root=facts.has_root,
        root_span_name=facts.root_span_name,
        root_attributes=dict(facts.root_attributes),
        resource_attributes=dict(facts.resource_attributes),
        has_agent=facts.has_agent,
        agent_name=facts.agent_name,
        attribute_value=None if facts.attribute_tools is None else list(facts.attribute_tools),
        annotation=facts.annotation,
    )


class _ArgumentMemory:
    """
    What may be kept of the arguments of the calls of one occurrence: which are equal, and the answers to the rules.
    """

    def __init__(self, resolution: Resolution, calls: Iterable[ToolCall]) -> None:
        self._rules = {rule_id(rule): rule for rule in _argument_rules(resolution)}
        texts = [text for text in map(_argument_text, calls) if text is not None]
        self._groups = {text: group for group, text in enumerate(dict.fromkeys(texts))}

    def of(self, call: ToolCall) -> StoredArguments | None:
        text = _argument_text(call)
        if text is None:
            return None
        answers = ((name, arguments_match(rule, call.arguments)) for name, rule in self._rules.items())
        return StoredArguments(
            group=self._groups[text], answers={name: answer for name, answer in answers if answer is not None}
        )


def _argument_rules(resolution: Resolution) -> Iterator[ToolRequirement]:
    tools = resolution.expected.tools if resolution.expected else ()
    conditions = resolution.conditions.conditions if resolution.conditions else ()
    leaves = (leaf for condition in conditions for leaf in walk(condition) if isinstance(leaf, LeafCondition))
    for tool in (*tools, *(tool for leaf in leaves for tool in leaf.requirements)):
        if tool.reads_arguments:
            yield tool


def _argument_text(call: ToolCall) -> str | None:
    """
    Equal for equal arguments, as the redundancy metric compares them.
    """
    arguments = read_arguments(call.arguments)
    return None if arguments is None else json.dumps(arguments, sort_keys=True, default=repr)


def _stored_coverage(coverage: Coverage) -> StoredCoverage:
    return StoredCoverage(label=coverage.label, reasons=coverage.reasons, basis=coverage.basis)


def _stored_call(call: ToolCall, memory: _ArgumentMemory) -> StoredCall:
    return StoredCall(
        name=call.name,
        trace_id=call.trace_id.hex(),
        span_id=call.span_id.hex(),
        start_ns=call.start_ns,
        end_ns=call.end_ns,
        end_slack_ns=call.end_slack_ns,
        status=call.status,
        shape=call.shape,
        call_id=call.call_id,
        aliases=call.aliases,
        control_tool=call.control_tool,
        order_evidence=call.order_evidence,
        result_ids=call.result_ids,
        arguments=memory.of(call),
    )


def _call_of(stored: StoredCall) -> ToolCall:
    arguments = stored.arguments
    return ToolCall(
        name=stored.name,
        trace_id=bytes.fromhex(stored.trace_id),
        span_id=bytes.fromhex(stored.span_id),
        start_ns=stored.start_ns,
        end_ns=stored.end_ns,
        end_slack_ns=stored.end_slack_ns,
        status=stored.status,
        call_id=stored.call_id,
        aliases=stored.aliases,
        control_tool=stored.control_tool,
        order_evidence=stored.order_evidence,
        arguments=RememberedArguments(arguments.group, arguments.answers) if arguments else None,
        result_ids=stored.result_ids,
        shape=stored.shape,
    )


def _stored_facts(facts: OccurrenceFacts, annotation: Mapping[str, str] | None, kept: KeptFacts) -> StoredFacts:
    root = {key: value for key, value in facts.root_attributes.items() if key != kept.expected_tools_attribute}
    resource = {key: value for key, value in facts.resource_attributes.items() if key in kept.resource_keys}
    return StoredFacts(
        annotated_as=facts.occurrence,
        service_name=facts.service_name,
        agent_name=facts.agent_name,
        has_agent=facts.has_agent,
        has_root=facts.has_root,
        root_span_name=facts.root_span_name,
        root_attributes=_texts(root),
        resource_attributes=_texts(resource),
        attribute_tools=_attribute_tools(facts.attribute_value),
        annotation=dict(annotation) if annotation else None,
    )


def _texts(attributes: Attributes) -> dict[str, str]:
    texts = ((key, as_text(value)) for key, value in attributes.items())
    return {key: text for key, text in texts if text is not None}


def _attribute_tools(value: AttributeValue) -> tuple[str, ...] | None:
    """
    The names in the attribute; none at all, which fails again, if it cannot be read.
    """
    try:
        return read_tool_names(value)
    except AnnotationInvalid:
        return ()


def _stored_result(evaluation: Evaluation, revision: int) -> StoredResult:
    return StoredResult(
        evaluation=evaluation.name,
        identifier=evaluation.identifier,
        expectation=evaluation.expectation,
        status=evaluation.status,
        score=evaluation.score,
        label=evaluation.label,
        revision=revision,
    )
