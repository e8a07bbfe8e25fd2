"""
GenAI span dialects: one ordered registry of what each writes and how it is known. Pure.
"""

from proto_adapters.dialects.dialect import Dialect
from proto_adapters.dialects.infrastructure import scope_may_hold_genai
from proto_adapters.dialects.registry import DIALECTS
from proto_adapters.dialects.table import dialect_table

__all__ = ["DIALECTS", "Dialect", "dialect_table", "scope_may_hold_genai"]
