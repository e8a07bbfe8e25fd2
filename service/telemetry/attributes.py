"""
Names of the attributes that the service writes on spans and evaluation events.

GENERATED from service/metadata.yaml by `python -m service.telemetry.generate`. Do not edit.
"""

from typing import Final

TRIGGER: Final = "toolscore.trigger"
COVERAGE: Final = "toolscore.coverage"
COVERAGE_REASONS: Final = "toolscore.coverage_reasons"
SHAPE: Final = "toolscore.shape"
EXPECTATION: Final = "toolscore.expectation"
EXPECTED_SOURCE: Final = "toolscore.expected_source"
PARTITION: Final = "toolscore.partition"
REVISION: Final = "toolscore.revision"
FINAL: Final = "toolscore.final"
EVALUATION_VERSION: Final = "toolscore.evaluation.version"
EVALUATION_IDENTIFIER: Final = "toolscore.evaluation.identifier"
IDEMPOTENCY_ID: Final = "toolscore.idempotency_id"
EVALUATION_SCORE: Final = "toolscore.evaluation.{name}.score"
EVALUATION_LABEL: Final = "toolscore.evaluation.{name}.label"
EVALUATION_STATUS: Final = "toolscore.evaluation.{name}.status"
EVALUATION_REASON: Final = "toolscore.evaluation.{name}.reason"
EVALUATION_MISSING: Final = "toolscore.evaluation.{name}.missing"
EVALUATION_LOWER: Final = "toolscore.evaluation.{name}.lower"
EVALUATION_UPPER: Final = "toolscore.evaluation.{name}.upper"
GEN_AI_EVALUATION_NAME: Final = "gen_ai.evaluation.name"
GEN_AI_EVALUATION_SCORE_VALUE: Final = "gen_ai.evaluation.score.value"
GEN_AI_EVALUATION_SCORE_LABEL: Final = "gen_ai.evaluation.score.label"
GEN_AI_EVALUATION_EXPLANATION: Final = "gen_ai.evaluation.explanation"
GEN_AI_CONVERSATION_ID: Final = "gen_ai.conversation.id"
ERROR_TYPE: Final = "error.type"
