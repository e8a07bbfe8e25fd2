"""
Files that a configuration names: looked for at start, so that a missing certificate is not found out by a sender.
"""

from collections.abc import Iterator
from pathlib import Path

from service.config.exporters import ConsoleExporterConfig
from service.config.extensions import BearerTokenAuthConfig
from service.config.listeners import listeners
from service.config.problems import Problem, path_text
from service.config.root import Config
from service.config.tls import ClientTlsConfig, ServerTlsConfig


def missing_files(config: Config) -> list[Problem]:
    """
    Files that *config* names and that cannot be read. What is written later (journal, evidence) need not exist.
    """
    return [
        (path_text(path), "no such file")
        for path, name in _named_files(config)
        if name is not None and not _is_file(Path(name))
    ]


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        return False


def _named_files(config: Config) -> Iterator[tuple[tuple[str, ...], str | None]]:
    for listener in listeners(config):
        if listener.tls is not None:
            yield from _tls_files((*listener.path, "tls"), listener.tls)
    for name, exporter in config.exporters.items():
        if not isinstance(exporter, ConsoleExporterConfig) and exporter.tls is not None:
            yield from _tls_files(("exporters", name, "tls"), exporter.tls)
    for name, extension in config.extensions.items():
        if isinstance(extension, BearerTokenAuthConfig):
            yield ("extensions", name, "filename"), extension.filename
    yield ("processors", "tool_scoring", "annotations_file"), config.tool_scoring.annotations_file


def _tls_files(
    path: tuple[str, ...], tls: ServerTlsConfig | ClientTlsConfig
) -> Iterator[tuple[tuple[str, ...], str | None]]:
    yield (*path, "cert_file"), tls.cert_file
    yield (*path, "key_file"), tls.key_file
    if isinstance(tls, ServerTlsConfig):
        yield (*path, "client_ca_file"), tls.client_ca_file
    else:
        yield (*path, "ca_file"), tls.ca_file
