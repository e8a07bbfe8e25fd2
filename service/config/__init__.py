"""
Configuration: what an operator writes, checked and typed, before anything starts.

Values only: nothing here acts. The environment is a parameter; files are read by `load_config` and by nothing else.
"""

from service.config.advice import advice
from service.config.dump import effective_configuration, written_configuration
from service.config.exporters import (
    ConsoleExporterConfig,
    ExporterConfig,
    OtlpGrpcExporterConfig,
    OtlpHttpExporterConfig,
)
from service.config.extensions import BearerTokenAuthConfig, HealthCheckConfig, LivePageConfig
from service.config.loading import config_from_tree, config_schema, default_config, load_config
from service.config.root import Config
from service.config.tool_scoring import ToolScoringConfig

__all__ = [
    "BearerTokenAuthConfig",
    "Config",
    "ConsoleExporterConfig",
    "ExporterConfig",
    "HealthCheckConfig",
    "LivePageConfig",
    "OtlpGrpcExporterConfig",
    "OtlpHttpExporterConfig",
    "ToolScoringConfig",
    "advice",
    "config_from_tree",
    "config_schema",
    "default_config",
    "effective_configuration",
    "load_config",
    "written_configuration",
]
