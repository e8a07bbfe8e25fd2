"""
Bearer tokens: read from files, compared, and read again when they change.
"""

from pathlib import Path

import pytest
from doubles import CountingRecorder, ManualClock

from service.durations import SECOND
from service.errors import ConfigError, PermissionDenied, Unauthenticated
from service.telemetry.recorder import NullRecorder
from service.transport_security.bearer_token import BearerTokenAuth


def test_the_token_is_let_in_whatever_the_case_of_its_scheme() -> None:
    auth = BearerTokenAuth(NullRecorder(), token="s3cret")

    auth.check("Bearer s3cret")
    auth.check("bearer s3cret")


@pytest.mark.parametrize("authorization", [None, "", "Bearer", "Bearer ", "Basic s3cret", "s3cret", "BearerS3cret s"])
def test_without_credentials_of_the_scheme_nobody_is_let_in(authorization: str | None) -> None:
    with pytest.raises(Unauthenticated):
        BearerTokenAuth(NullRecorder(), token="s3cret").check(authorization)


@pytest.mark.parametrize("token", ["s3cre", "s3crett", "S3CRET", "s3cret s3cret", "\udcff", "é"])
def test_a_wrong_token_is_denied(token: str) -> None:
    with pytest.raises(PermissionDenied):
        BearerTokenAuth(NullRecorder(), token="s3cret").check(f"Bearer {token}")


def test_the_scheme_can_be_another() -> None:
    auth = BearerTokenAuth(NullRecorder(), token="s3cret", scheme="Token")

    assert "Token s3cret" == auth.authorization()
    auth.check("Token s3cret")
    with pytest.raises(Unauthenticated):
        auth.check("Bearer s3cret")


def test_each_token_of_a_file_is_let_in_and_the_first_is_sent(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_text("new\nold\n")
    auth = BearerTokenAuth(NullRecorder(), filename=file)

    auth.check("Bearer new")
    auth.check("Bearer old")
    assert "Bearer new" == auth.authorization()


def test_a_rotated_token_file_is_read_again(tmp_path: Path) -> None:
    file, clock, recorder = tmp_path / "token", ManualClock(), CountingRecorder()
    file.write_text("old\n")
    auth = BearerTokenAuth(recorder, filename=file, clock=clock)
    file.write_text("newer\n")
    clock.advance(SECOND)

    auth.check("Bearer newer")
    with pytest.raises(PermissionDenied):
        auth.check("Bearer old")
    assert {("reloaded", "True"): 1} == recorder.counts


def test_an_emptied_token_file_lets_nobody_in_anew_but_keeps_the_old_token(tmp_path: Path) -> None:
    file, clock = tmp_path / "token", ManualClock()
    file.write_text("old")
    auth = BearerTokenAuth(NullRecorder(), filename=file, clock=clock)
    file.write_text("")
    clock.advance(SECOND)

    auth.check("Bearer old")
    with pytest.raises(Unauthenticated):
        auth.check("Bearer ")


@pytest.mark.parametrize("content", [None, "", " \n"], ids=["absent", "empty", "blank"])
def test_a_file_without_a_token_is_a_configuration_error(content: str | None, tmp_path: Path) -> None:
    file = tmp_path / "token"
    if content is not None:
        file.write_text(content)

    with pytest.raises(ConfigError, match="bearertokenauth"):
        BearerTokenAuth(NullRecorder(), filename=file)


def test_tokens_show_in_no_message_and_no_representation() -> None:
    auth = BearerTokenAuth(NullRecorder(), token="s3cret")

    with pytest.raises(PermissionDenied) as denied:
        auth.check("Bearer guess")

    assert "s3cret" not in repr(auth)
    assert "s3cret" not in str(denied.value)
    assert "guess" not in str(denied.value)
