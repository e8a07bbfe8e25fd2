"""
The way out, as configured: a client, a sender and a queue for each exporter that a pipeline names.
"""

from service.app.security import Security
from service.clock import Clock
from service.config import Config, OtlpGrpcExporterConfig, OtlpHttpExporterConfig
from service.config.exporters import OtlpExporterConfig, QueueConfig, RetryConfig
from service.exporter.attempt import Client
from service.exporter.otlp_grpc import GrpcExporterSettings, OtlpGrpcClient
from service.exporter.otlp_http import HttpExporterSettings, OtlpHttpClient
from service.exporter.retry import RetrySettings
from service.exporter.sender import Sender
from service.exporter.sending_queue import QueueSettings, SendingQueue
from service.pipeline import Signal
from service.telemetry.recorder import Recorder


def build_queues(config: Config, recorder: Recorder, clock: Clock, security: Security) -> dict[str, SendingQueue]:
    """
    A sending queue for each OTLP exporter in use, by component id. Raises `ConfigError`.
    """
    queues = {}
    for name, exporter in config.active_exporters.items():
        if isinstance(exporter, OtlpExporterConfig):
            client = _client(exporter, security, f"exporters::{name}")
            retry = _retry_settings(exporter.retry_on_failure, config)
            waits = config.tool_scoring.mode == "pass_through" and exporter.sending_queue.wait_for_result
            sender = Sender(
                client,
                retry,
                recorder,
                exporter=name,
                clock=clock,
                abandoned_is_lost=not waits,
                outlives_stop=config.tool_scoring.buffer.journal.directory is not None,
            )
            queues[name] = SendingQueue(sender, _queue_settings(exporter.sending_queue), recorder, exporter=name)
    return queues


def outlets_of(config: Config, signal: Signal, queues: dict[str, SendingQueue]) -> list[SendingQueue]:
    return [queues[name] for name in config.exporters_of(signal) if name in queues]


def _queue_settings(queue: QueueConfig) -> QueueSettings:
    return QueueSettings(
        num_consumers=queue.num_consumers, queue_size=queue.capacity, queue_size_bytes=queue.queue_size_bytes
    )


def _retry_settings(retry: RetryConfig, config: Config) -> RetrySettings:
    return RetrySettings(
        enabled=retry.enabled,
        initial_interval_ns=retry.initial_interval_ns,
        randomization_factor=retry.randomization_factor,
        multiplier=retry.multiplier,
        max_interval_ns=retry.max_interval_ns,
        max_elapsed_time_ns=retry.give_up_after_ns(config.tool_scoring.mode),
    )


def _client(exporter: OtlpExporterConfig, security: Security, where: str) -> Client:
    auth = security.bearer_token(exporter.auth)
    if isinstance(exporter, OtlpHttpExporterConfig):
        is_plain = exporter.endpoint.startswith("http://")
        tls = None if is_plain else security.client_tls(exporter.tls, where)
        return OtlpHttpClient(_http_settings(exporter), tls=tls, auth=auth)
    assert isinstance(exporter, OtlpGrpcExporterConfig)
    return OtlpGrpcClient(_grpc_settings(exporter), tls=security.client_tls(exporter.tls, where), auth=auth)


def _grpc_settings(exporter: OtlpGrpcExporterConfig) -> GrpcExporterSettings:
    keepalive = exporter.keepalive
    return GrpcExporterSettings(
        endpoint=exporter.endpoint,
        timeout_ns=exporter.timeout_ns,
        compression=exporter.compression,
        headers=_headers(exporter),
        keepalive_time_ns=keepalive.time_ns if keepalive else 0,
        keepalive_timeout_ns=keepalive.timeout_ns if keepalive else 0,
    )


def _http_settings(exporter: OtlpHttpExporterConfig) -> HttpExporterSettings:
    endpoints = {
        Signal.TRACES: exporter.traces_endpoint,
        Signal.LOGS: exporter.logs_endpoint,
        Signal.METRICS: exporter.metrics_endpoint,
    }
    return HttpExporterSettings(
        endpoint=exporter.endpoint,
        signal_endpoints={signal: url for signal, url in endpoints.items() if url is not None},
        timeout_ns=exporter.timeout_ns,
        compression=exporter.compression,
        encoding=exporter.encoding,
        headers=_headers(exporter),
    )


def _headers(exporter: OtlpExporterConfig) -> dict[str, str]:
    return {name: value.get_secret_value() for name, value in exporter.headers.items()}
