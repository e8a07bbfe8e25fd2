"""
What one block says of another: ids that must be defined, addresses that may be taken once. Pure.
"""

from collections.abc import Iterator, Mapping

from msgspec import Struct
from pydantic import ValidationError

from service.config.exporters import ConsoleExporterConfig, default_exporters
from service.config.extensions import BearerTokenAuthConfig
from service.config.listeners import listeners
from service.config.problems import Problem, path_text, suggestion
from service.config.processors import PROCESSORS
from service.config.receivers import default_receivers
from service.config.root import Config
from service.config.service_block import PipelineConfig, ServiceBlockConfig
from service.config.tls import AuthConfig
from service.config.values import split_endpoint
from service.config.yaml_reader import Value


class Defined(Struct, frozen=True):
    """
    The ids that a configuration defines, by block.
    """

    receivers: frozenset[str]
    exporters: frozenset[str]
    extensions: frozenset[str]


def mistakes(config: Config) -> list[Problem]:
    """
    What no single block can know to be wrong.
    """
    defined = Defined(frozenset(config.receivers), frozenset(config.exporters), frozenset(config.extensions))
    return [
        *_undefined_names(config.service, defined),
        *_unclear_destination(config),
        *_undefined_authenticators(config),
        *_shared_addresses(config),
    ]


def undefined_names(tree: Mapping[str, Value]) -> list[Problem]:
    """
    The ids that `service` names and nothing defines, in a tree of which other blocks may be wrong.
    """
    try:
        service = ServiceBlockConfig.model_validate(tree.get("service") or {})
    except ValidationError:
        return []
    receivers = _ids(tree, "receivers") or frozenset(default_receivers())
    exporters = _ids(tree, "exporters") or frozenset(default_exporters())
    return list(_undefined_names(service, Defined(receivers, exporters, _ids(tree, "extensions"))))


def _ids(tree: Mapping[str, Value], key: str) -> frozenset[str]:
    block = tree.get(key)
    return frozenset(block) if isinstance(block, dict) else frozenset()


def _undefined_names(service: ServiceBlockConfig, defined: Defined) -> Iterator[Problem]:
    yield from _undefined(("service", "extensions"), service.extensions, defined.extensions)
    for signal, pipeline in _configured_pipelines(service):
        path = ("service", "pipelines", signal)
        yield from _undefined((*path, "receivers"), pipeline.receivers, defined.receivers)
        yield from _undefined((*path, "processors"), pipeline.processors, PROCESSORS)
        yield from _undefined((*path, "exporters"), pipeline.exporters, defined.exporters)


def _undefined(path: tuple[str | int, ...], names: tuple[str, ...], defined: frozenset[str]) -> Iterator[Problem]:
    for index, name in enumerate(names):
        if name not in defined:
            yield path_text((*path, index)), f"{name} is not defined" + suggestion(name, defined)


def _configured_pipelines(service: ServiceBlockConfig) -> Iterator[tuple[str, PipelineConfig]]:
    pipelines = service.pipelines
    if pipelines is not None:
        for signal in type(pipelines).model_fields:
            pipeline = getattr(pipelines, signal)
            if pipeline is not None:
                yield signal, pipeline


def _unclear_destination(config: Config) -> Iterator[Problem]:
    if not config.receivers:
        yield "receivers", "should define a receiver"
    if not config.exporters:
        yield "exporters", "should define an exporter"
    elif config.service.pipelines is None and len(config.exporters) > 1:
        yield "service::pipelines", "is required, since exporters defines more than one"
    elif config.service.pipelines is not None and not list(_configured_pipelines(config.service)):
        yield "service::pipelines", "should name traces, logs or metrics"


def _undefined_authenticators(config: Config) -> Iterator[Problem]:
    for path, auth in _auth_blocks(config):
        name = auth.authenticator
        where = path_text((*path, "auth", "authenticator"))
        if not isinstance(config.extensions.get(name), BearerTokenAuthConfig):
            known = [key for key, block in config.extensions.items() if isinstance(block, BearerTokenAuthConfig)]
            yield where, f"{name} is not an authenticator that extensions defines" + suggestion(name, known)
        elif name not in config.service.extensions:
            yield where, f"{name} does not run; add it to service::extensions"


def _auth_blocks(config: Config) -> Iterator[tuple[tuple[str, ...], AuthConfig]]:
    for listener in listeners(config):
        if listener.auth is not None:
            yield listener.path, listener.auth
    for name, exporter in config.exporters.items():
        if not isinstance(exporter, ConsoleExporterConfig) and exporter.auth is not None:
            yield ("exporters", name), exporter.auth


def _shared_addresses(config: Config) -> Iterator[Problem]:
    taken: dict[tuple[str, int], str] = {}
    for listener in listeners(config):
        address = split_endpoint(listener.endpoint)
        where = path_text(listener.path)
        if address.port and taken.setdefault(address, where) != where:
            yield where, f"{listener.endpoint} is also the address of {taken[address]}"
