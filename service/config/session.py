"""
`processors::tool_scoring::session`: scores pooled over the traces of one conversation (design §8).
"""

from typing import Annotated

from pydantic import Field, model_validator

from service.config.values import AttributeKey, Block, Distinct, PositiveCount, PositiveDuration, Switch
from service.durations import HOUR, MINUTE


class SessionConfig(Block):
    """
    Sessions are off by default: they keep evidence for much longer than traces do.
    """

    enabled: Switch = Field(default=False, description="Score sessions beside traces.")
    keys: Annotated[tuple[AttributeKey, ...], Distinct] = Field(
        (),
        description="Attributes that hold the session id, the first present wins. Empty: the keys of every dialect.",
    )
    idle_timeout_ns: PositiveDuration = Field(30 * MINUTE, description="A session without a new trace is over.")
    max_duration_ns: PositiveDuration = Field(24 * HOUR, description="A session is over after so long.")
    max_sessions: PositiveCount = Field(10_000, description="Open sessions; over it the oldest is scored and closed.")
    max_traces_per_session: PositiveCount = Field(1_000, description="A session with more traces is over.")

    @model_validator(mode="after")
    def _idle_before_maximum(self) -> "SessionConfig":
        if self.idle_timeout_ns > self.max_duration_ns:
            raise ValueError("idle_timeout should not be longer than max_duration")
        return self
