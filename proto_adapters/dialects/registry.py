"""
The registry of dialects, in order of precedence. Pure data; nothing registers itself.

First the dialects that tell the kind at a key of their own, in the order of step K2; then OpenInference and its
family (K3), `gen_ai.span.kind` (K4), the products that use the operation names (K5, K8), and the conventions.
"""

from typing import Final

from proto_adapters.dialects.ag2 import AG2
from proto_adapters.dialects.agent_framework import AGENT_FRAMEWORK
from proto_adapters.dialects.agentops import AGENTOPS
from proto_adapters.dialects.anthropic_sdk import ANTHROPIC_SDK
from proto_adapters.dialects.arize import ARIZE
from proto_adapters.dialects.autogen import AUTOGEN
from proto_adapters.dialects.aws_adot import AWS_ADOT
from proto_adapters.dialects.azure_foundry import AZURE_FOUNDRY
from proto_adapters.dialects.braintrust import BRAINTRUST
from proto_adapters.dialects.claude_agent_sdk import CLAUDE_AGENT_SDK
from proto_adapters.dialects.claude_code import CLAUDE_CODE
from proto_adapters.dialects.codex import CODEX
from proto_adapters.dialects.copilot import COPILOT_CHAT
from proto_adapters.dialects.crewai import CREWAI
from proto_adapters.dialects.datadog import DATADOG
from proto_adapters.dialects.dialect import Dialect
from proto_adapters.dialects.dify import DIFY
from proto_adapters.dialects.elastic import ELASTIC_EDOT
from proto_adapters.dialects.gemini_cli import GEMINI_CLI
from proto_adapters.dialects.gen_ai_span_kind import GEN_AI_SPAN_KIND
from proto_adapters.dialects.genkit import GENKIT
from proto_adapters.dialects.google_adk import GOOGLE_ADK
from proto_adapters.dialects.haystack import HAYSTACK
from proto_adapters.dialects.laminar import LAMINAR
from proto_adapters.dialects.langchain4j import LANGCHAIN4J
from proto_adapters.dialects.langfuse import LANGFUSE
from proto_adapters.dialects.langsmith import LANGSMITH
from proto_adapters.dialects.litellm import LITELLM_V1, LITELLM_V2
from proto_adapters.dialects.livekit import LIVEKIT
from proto_adapters.dialects.llamaindex import LLAMAINDEX_NATIVE
from proto_adapters.dialects.logfire import LOGFIRE
from proto_adapters.dialects.mastra import MASTRA
from proto_adapters.dialects.mcp import FASTMCP, MCP_PYTHON_SDK, MCP_SEMCONV
from proto_adapters.dialects.mlflow import MLFLOW
from proto_adapters.dialects.mlflow_genai import MLFLOW_GENAI
from proto_adapters.dialects.n8n import N8N
from proto_adapters.dialects.openai_agents import OPENAI_AGENTS
from proto_adapters.dialects.openinference import OPENINFERENCE
from proto_adapters.dialects.openlit import OPENLIT
from proto_adapters.dialects.otel_genai import (
    OTEL_GENAI_CHOICE_EVENTS,
    OTEL_GENAI_CONTENT_EVENTS,
    OTEL_GENAI_MESSAGES,
)
from proto_adapters.dialects.pydantic_ai import PYDANTIC_AI
from proto_adapters.dialects.semantic_kernel import SEMANTIC_KERNEL
from proto_adapters.dialects.smolagents_agno_dspy import SMOLAGENTS_AGNO_DSPY
from proto_adapters.dialects.splunk import SPLUNK_GENAI
from proto_adapters.dialects.spring_ai import SPRING_AI
from proto_adapters.dialects.strands import STRANDS
from proto_adapters.dialects.traceloop import TRACELOOP
from proto_adapters.dialects.vercel_ai import VERCEL_AI_LEGACY, VERCEL_AI_OTEL
from proto_adapters.dialects.voltagent import VOLTAGENT

NATIVE_KIND_DIALECTS: Final[tuple[Dialect, ...]] = (
    TRACELOOP,
    LANGSMITH,
    LANGFUSE,
    MLFLOW,
    MASTRA,
    AG2,
    SPRING_AI,
    GENKIT,
    VERCEL_AI_LEGACY,
    LAMINAR,
    CLAUDE_CODE,
    VOLTAGENT,
    BRAINTRUST,
    N8N,
    HAYSTACK,
    AGENTOPS,
    DATADOG,
)

DIALECTS: Final[tuple[Dialect, ...]] = (
    *NATIVE_KIND_DIALECTS,
    OPENINFERENCE,
    SMOLAGENTS_AGNO_DSPY,
    ARIZE,
    DIFY,
    LANGCHAIN4J,
    CLAUDE_AGENT_SDK,
    GEN_AI_SPAN_KIND,
    CODEX,
    GEMINI_CLI,
    COPILOT_CHAT,
    AZURE_FOUNDRY,
    PYDANTIC_AI,
    LOGFIRE,
    OPENAI_AGENTS,
    VERCEL_AI_OTEL,
    GOOGLE_ADK,
    STRANDS,
    AGENT_FRAMEWORK,
    AUTOGEN,
    SEMANTIC_KERNEL,
    CREWAI,
    LITELLM_V2,
    LITELLM_V1,
    OPENLIT,
    ANTHROPIC_SDK,
    LIVEKIT,
    AWS_ADOT,
    MLFLOW_GENAI,
    LLAMAINDEX_NATIVE,
    SPLUNK_GENAI,
    ELASTIC_EDOT,
    FASTMCP,
    MCP_PYTHON_SDK,
    MCP_SEMCONV,
    OTEL_GENAI_MESSAGES,
    OTEL_GENAI_CONTENT_EVENTS,
    OTEL_GENAI_CHOICE_EVENTS,
)
