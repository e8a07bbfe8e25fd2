"""
The way out, as configured: a client, a sender and a queue for each exporter that a pipeline names.
"""

from service.clock import Clock
from service.config import Config, OtlpGrpcExporterConfig, OtlpHttpExporterConfig
from service.config.exporters import OtlpExporterConfig, RetryConfig
from service.exporter.attempt import Client
from service.exporter.otlp_grpc import GrpcExporterSettings, OtlpGrpcClient
from service.exporter.retry import RetrySettings
from service.exporter.sender import Sender
from service.exporter.sending_queue import QueueSettings, SendingQueue
from service.pipeline import Signal
from service.telemetry.recorder import Recorder


def build_queues(config: Config, recorder: Recorder, clock: Clock) -> dict[str, SendingQueue]:
    """
    A sending queue for each OTLP exporter in use, by component id.
    """
    return {
        name: _queue(name, exporter, config, recorder, clock)
        for name, exporter in config.active_exporters.items()
        if isinstance(exporter, OtlpExporterConfig)
    }


def outlets_of(config: Config, signal: Signal, queues: dict[str, SendingQueue]) -> list[SendingQueue]:
    return [queues[name] for name in config.exporters_of(signal) if name in queues]


def _queue(name: str, exporter: OtlpExporterConfig, config: Config, recorder: Recorder, clock: Clock) -> SendingQueue:
    retry = _retry_settings(exporter.retry_on_failure, config)
    sender = Sender(_client(exporter), retry, recorder, exporter=name, clock=clock)
    queue = exporter.sending_queue
    settings = QueueSettings(
        num_consumers=queue.num_consumers, queue_size=queue.capacity, queue_size_bytes=queue.queue_size_bytes
    )
    return SendingQueue(sender, settings, recorder, exporter=name)


def _retry_settings(retry: RetryConfig, config: Config) -> RetrySettings:
    return RetrySettings(
        enabled=retry.enabled,
        initial_interval_ns=retry.initial_interval_ns,
        randomization_factor=retry.randomization_factor,
        multiplier=retry.multiplier,
        max_interval_ns=retry.max_interval_ns,
        max_elapsed_time_ns=retry.give_up_after_ns(config.tool_scoring.mode),
    )


def _client(exporter: OtlpExporterConfig) -> Client:
    if isinstance(exporter, OtlpGrpcExporterConfig):
        return OtlpGrpcClient(_grpc_settings(exporter))
    assert isinstance(exporter, OtlpHttpExporterConfig)
    raise NotImplementedError


def _grpc_settings(exporter: OtlpGrpcExporterConfig) -> GrpcExporterSettings:
    keepalive = exporter.keepalive
    return GrpcExporterSettings(
        endpoint=exporter.endpoint,
        timeout_ns=exporter.timeout_ns,
        compression=exporter.compression,
        headers={name: value.get_secret_value() for name, value in exporter.headers.items()},
        keepalive_time_ns=keepalive.time_ns if keepalive else 0,
        keepalive_timeout_ns=keepalive.timeout_ns if keepalive else 0,
    )
