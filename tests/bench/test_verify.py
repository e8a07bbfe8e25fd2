"""
Nothing is lost, changed, duplicated or left without a score when a running service takes all it can.
"""

import pytest
from bench.agent_traffic import Profile, synthetic_corpus
from bench.services import toolscore, yardstick
from bench.verify import verify
from bench.yardsticks import Yardstick


@pytest.mark.parametrize("batch", [1, 128])
def test_every_span_leaves_once_as_it_came_and_every_root_with_a_score(batch: int) -> None:
    corpus = synthetic_corpus(Profile.CONTENT if batch > 1 else Profile.LEAN, batch=batch, traces=40)

    result = verify(corpus, toolscore())

    assert corpus.span_count == result.sent
    assert 40 == result.scored_roots
    assert result.is_clean


def test_a_service_that_does_not_score_is_found_out() -> None:
    corpus = synthetic_corpus(Profile.LEAN, batch=128, traces=10)

    result = verify(corpus, yardstick(Yardstick.FORWARD))

    assert (0, 0, 0, 10) == (result.lost, result.changed, result.duplicated, result.unscored_roots)
    assert not result.is_clean
