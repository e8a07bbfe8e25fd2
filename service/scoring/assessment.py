"""
From the canonical spans of one occurrence to its evaluations: the whole pure path in one place.

The processor and `toolscore replay` assess with the same object, so that both give the same results for the same spans.
"""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from proto_adapters.canonical import AttributeValue, CanonicalSpan, CanonicalTrace, LogCompletion
from proto_adapters.trace_assembly import AssemblyOptions, assemble
from service.evaluation import Evaluation, ExpectedSource
from service.evidence import Partition, ToolEvidence
from service.root_condition import by_depth, find_roots, reachable_from, span_to_annotate
from service.scoring.early import find_early, settle
from service.scoring.evidence import ClosingFacts, EvidenceSettings, build_evidence
from service.scoring.expectations import OccurrenceFacts, Resolution, Resolver
from service.scoring.policies import EntryFit
from service.scoring.scorer import evaluate
from service.scoring.sessions import part_of, pool
from service.scoring.settings import ScoringSettings
from service.session_evidence import SessionEvidence, TracePart


class Assessment(Struct, frozen=True, kw_only=True):
    """
    What is known and said of one occurrence.
    """

    partition: Partition
    occurrence: str
    """Trace id in hex; with an attribute root also its span id; or the session key."""
    trace: CanonicalTrace
    evidence: ToolEvidence
    facts: OccurrenceFacts
    """What decided the expectation."""
    resolution: Resolution
    evaluations: tuple[Evaluation, ...]
    root: CanonicalSpan | None
    """The span that score attributes go on (design §9)."""

    @property
    def subject(self) -> CanonicalSpan | None:
        """The span that events belong to: the outermost AGENT span, else the root."""
        return self.trace.agent_span or self.root

    @property
    def is_eligible(self) -> bool:
        return bool(self.evidence.shapes)

    @property
    def is_without_expectation(self) -> bool:
        """Nothing resolves, and no root is waited for that could change it (design §7)."""
        resolution = self.resolution
        is_resolved = resolution.expected or resolution.conditions or resolution.failure
        return not is_resolved and not resolution.is_pending

    @property
    def agent_name(self) -> str | None:
        return self.trace.agent_span.agent_name if self.trace.agent_span else None

    @property
    def session_part(self) -> TracePart | None:
        """What a trace hands to its session; `None` if it has none."""
        return part_of(
            self.trace, self.evidence, occurrence=self.occurrence, root=self.root, has_root=self.facts.has_root
        )


class Assessor:
    """
    Assesses occurrences under one configuration. Holds no state but the resolver's memo.
    """

    def __init__(
        self,
        resolver: Resolver,
        *,
        assembly: AssemblyOptions,
        evidence: EvidenceSettings,
        scoring: ScoringSettings,
        expected_tools_attribute: str | None = None,
    ) -> None:
        self._resolver = resolver
        self._assembly = assembly
        self._evidence = evidence
        self._scoring = scoring
        self._expected_tools_attribute = expected_tools_attribute

    def assess(
        self, trace_id: bytes, spans: Sequence[CanonicalSpan], logs: Sequence[LogCompletion], facts: ClosingFacts
    ) -> Assessment:
        """
        Assess one whole trace.
        """
        return self._assess(trace_id.hex(), spans, logs, facts)

    def assess_subtree(
        self, root: CanonicalSpan, spans: Sequence[CanonicalSpan], logs: Sequence[LogCompletion], facts: ClosingFacts
    ) -> Assessment:
        """
        Assess the subtree below an attribute root (design §5).
        """
        occurrence = f"{root.trace_id.hex()}/{root.span_id.hex()}"
        return self._assess(occurrence, reachable_from([root], spans), logs, facts)

    def assess_early(
        self, trace_id: bytes, spans: Sequence[CanonicalSpan], logs: Sequence[LogCompletion]
    ) -> Assessment:
        """
        Assess a trace that is open; of the evaluations only those are given that no further span can overturn.
        """
        assessment = self._assess(trace_id.hex(), spans, logs, ClosingFacts(closed_by_root=False))
        settled = settle(assessment.trace, {span.span_id: span for span in spans}, assessment.evidence)
        resolution = self._settled_resolution(assessment)
        found = () if settled is None else tuple(find_early(settled, resolution, self._scoring))
        return replace(assessment, evaluations=found)

    def _settled_resolution(self, assessment: Assessment) -> Resolution:
        """
        A span attribute on a later span, nearer the root, would come before what is configured.
        """
        resolution, root, agent = assessment.resolution, assessment.root, assessment.trace.agent_span
        root_is_agent = root is not None and agent is not None and root.span_id == agent.span_id
        is_settled = self._resolver.is_settled(assessment.facts, root_is_agent=root_is_agent)
        stays = is_settled and self._expected_tools_attribute is None
        if not stays and resolution.expected_source is not ExpectedSource.ANNOTATION:
            resolution = replace(resolution, expected=None)
        return resolution if is_settled else replace(resolution, conditions=None)

    def assess_session(self, session: SessionEvidence) -> Assessment:
        """
        Assess a session of at least one trace. It is told on the trace that began last (design §8).
        """
        evidence = pool(session)
        facts = _session_facts(session)
        resolution = self._resolver.resolve(facts)
        latest = session.parts[-1]
        return Assessment(
            partition=Partition.SESSION,
            occurrence=session.occurrence,
            trace=CanonicalTrace(spans=(), shape=None, session_id=session.key.session_id, agent_span=latest.agent),
            evidence=evidence,
            facts=facts,
            resolution=resolution,
            evaluations=evaluate(evidence, resolution, self._scoring),
            root=latest.root,
        )

    def explain_expectation(self, facts: OccurrenceFacts) -> tuple[EntryFit, ...]:
        """
        How each policy stands to an occurrence, up to the one that decides.
        """
        return self._resolver.explain(facts)

    def rescore(
        self, evidence: ToolEvidence, facts: OccurrenceFacts, *, has_embedded_order: bool
    ) -> tuple[Evaluation, ...]:
        """
        The evaluations of stored evidence. Without *has_embedded_order* the order of embedded calls was not read.
        """
        scoring = self._scoring
        if not has_embedded_order and scoring.order_from_embedded_calls:
            scoring = replace(scoring, order_from_embedded_calls=False)
        if self._expected_tools_attribute is None:
            facts = replace(facts, attribute_value=None)
        return evaluate(evidence, self._resolver.resolve(facts), scoring)

    def _assess(
        self, occurrence: str, spans: Sequence[CanonicalSpan], logs: Sequence[LogCompletion], facts: ClosingFacts
    ) -> Assessment:
        trace = assemble(spans, logs, self._assembly)
        evidence = build_evidence(trace, facts, self._evidence)
        root = span_to_annotate(trace.spans, self._evidence.root_condition)
        expectation_facts = self._facts_of(occurrence, trace, root)
        resolution = self._resolver.resolve(expectation_facts)
        return Assessment(
            partition=Partition.TRACE,
            occurrence=occurrence,
            trace=trace,
            evidence=evidence,
            facts=expectation_facts,
            resolution=resolution,
            evaluations=evaluate(evidence, resolution, self._scoring),
            root=root,
        )

    def _facts_of(self, occurrence: str, trace: CanonicalTrace, root: CanonicalSpan | None) -> OccurrenceFacts:
        agent = trace.agent_span
        met = root is not None and root in find_roots(trace.spans, self._evidence.root_condition)
        return OccurrenceFacts(
            partition=Partition.TRACE,
            occurrence=occurrence.partition("/")[0],
            service_name=root.origin.service_name if root else "",
            agent_name=agent.agent_name if agent else None,
            has_agent=agent is not None,
            has_root=met,
            root_span_name=root.name if root else "",
            root_attributes=root.selected if root else {},
            resource_attributes=root.origin.resource_attributes if root else {},
            attribute_value=self._attribute_value(trace.spans, root),
        )

    def _attribute_value(self, spans: Sequence[CanonicalSpan], root: CanonicalSpan | None) -> AttributeValue:
        """
        The configured attribute of the span nearest the root that has it; among equals the earliest.
        """
        key = self._expected_tools_attribute
        if key is None or root is None:
            return None
        return next((span.selected[key] for span in by_depth(root, spans) if key in span.selected), None)


def _session_facts(session: SessionEvidence) -> OccurrenceFacts:
    """
    Policies match the earliest root; annotations name the bare session id; no span attribute speaks for a session.
    """
    earliest = next((part for part in session.parts if part.has_root), session.parts[0])
    root, agent = earliest.root, earliest.agent
    return OccurrenceFacts(
        partition=Partition.SESSION,
        occurrence=session.key.session_id,
        service_name=root.origin.service_name,
        agent_name=agent.agent_name if agent else None,
        has_agent=agent is not None,
        has_root=earliest.has_root,
        root_span_name=root.name,
        root_attributes=root.selected,
        resource_attributes=root.origin.resource_attributes,
    )
