"""
What works but is unwise: said at start and by `toolscore validate`, never a reason not to start. Pure.
"""

from collections.abc import Iterable, Iterator
from itertools import groupby

from proto_adapters.tool_names import comparison_key
from service.config.exporters import ConsoleExporterConfig, QueueConfig, RetryConfig
from service.config.listeners import listeners
from service.config.problems import Problem, path_text
from service.config.root import Config
from service.config.values import split_endpoint


def advice(config: Config) -> list[Problem]:
    """
    What works but is unwise: said at start and by `validate`, never a reason not to start.
    """
    return [
        *_open_doors(config),
        *_bare_tokens(config),
        *_unheard_results(config),
        *_possible_losses(config),
        *_idle_settings(config),
        *_colliding_names(config),
    ]


def _open_doors(config: Config) -> Iterator[Problem]:
    for listener in listeners(config):
        if split_endpoint(listener.endpoint).is_loopback or not listener.takes_auth:
            continue
        missing = [key for key, block in (("tls", listener.tls), ("auth", listener.auth)) if block is None]
        if missing:
            yield path_text(listener.path), f"reachable from the network without {' and '.join(missing)}"


def _bare_tokens(config: Config) -> Iterator[Problem]:
    for name, exporter in config.exporters.items():
        if isinstance(exporter, ConsoleExporterConfig) or exporter.auth is None:
            continue
        is_plain = exporter.endpoint.startswith("http://") or (exporter.tls is not None and exporter.tls.insecure)
        if is_plain:
            yield path_text(("exporters", name, "auth")), "the token is sent without TLS"


def _unheard_results(config: Config) -> Iterator[Problem]:
    scoring, pipelines = config.tool_scoring, config.pipelines
    if pipelines.logs is None and scoring.late_spans.action == "rescore":
        yield (
            "processors::tool_scoring::late_spans::action",
            "rescore corrects results by events, and service::pipelines::logs is left out",
        )
    if pipelines.logs is None and scoring.early_verdicts:
        yield (
            "processors::tool_scoring::early_verdicts",
            "early verdicts are events, and service::pipelines::logs is left out",
        )
    if pipelines.traces is None and scoring.mode == "hold":
        yield "processors::tool_scoring::mode", "hold releases spans, and service::pipelines::traces is left out"


def _possible_losses(config: Config) -> Iterator[Problem]:
    if config.tool_scoring.mode != "hold":
        return
    if config.tool_scoring.drop_pending_traces_on_shutdown:
        yield (
            "processors::tool_scoring::drop_pending_traces_on_shutdown",
            "with mode: hold the spans of open traces are lost at shutdown",
        )
    for name, exporter in config.exporters.items():
        if not isinstance(exporter, ConsoleExporterConfig) and _gives_up(exporter.retry_on_failure):
            yield (
                path_text(("exporters", name, "retry_on_failure")),
                "with mode: hold spans are lost when retries end; max_elapsed_time: 0s keeps them",
            )


def _gives_up(retry: RetryConfig) -> bool:
    return not retry.enabled or retry.give_up_after_ns("hold") > 0


def _idle_settings(config: Config) -> Iterator[Problem]:
    scoring = config.tool_scoring
    if scoring.evaluation_span and scoring.mode == "hold":
        yield "processors::tool_scoring::evaluation_span", "has no effect with mode: hold; the root carries the scores"
    for name, exporter in config.exporters.items():
        if scoring.mode == "hold" and not isinstance(exporter, ConsoleExporterConfig):
            yield from _idle_queue_settings(name, exporter.sending_queue)
    if any(entry.partition != "trace" for entry in scoring.expectations) and not scoring.session.enabled:
        yield (
            "processors::tool_scoring::expectations",
            "an entry is for sessions, and session::enabled is false",
        )


def _idle_queue_settings(exporter: str, queue: QueueConfig) -> Iterator[Problem]:
    for key in ("wait_for_result", "block_on_overflow"):
        if getattr(queue, key):
            path = path_text(("exporters", exporter, "sending_queue", key))
            yield path, "has no effect with mode: hold; a request is acknowledged when its spans are held"


def _colliding_names(config: Config) -> Iterator[Problem]:
    scoring = config.tool_scoring
    block = scoring.tool_selection_accuracy
    lists = [("tool_selection_accuracy::expected_tools", block.expected_tools or ())] + [
        (f"expectations[{number}]::expected_tools", [tool.name for tool in entry.expected_tools or ()])
        for number, entry in enumerate(scoring.expectations)
    ]
    for path, names in lists:
        for together in _together(names):
            yield (
                f"processors::tool_scoring::{path}",
                f"{' and '.join(together)} are one name without case and separators",
            )


def _together(names: Iterable[str]) -> Iterator[list[str]]:
    """
    Different spellings that selection compares as one name (decision D1).
    """
    for _, spellings in groupby(sorted(set(names), key=lambda name: (comparison_key(name), name)), comparison_key):
        if len(together := list(spellings)) > 1:
            yield together
