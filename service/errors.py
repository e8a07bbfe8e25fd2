"""
Errors that cross a boundary of the service.

    ServiceError
      ConfigError                the configuration cannot be used; start-up fails
      RequestError               a received request was not taken
        MalformedRequest         permanent: the bytes are not OTLP
        RequestTooLarge          permanent: over a size limit
        Unauthenticated          permanent: no credentials
        PermissionDenied         permanent: wrong credentials
        Refused                  retryable: nothing more can be taken now

A receiver maps a `RequestError` to a gRPC or HTTP status in one place (`service.receiver.status`).
"""


class ServiceError(Exception):
    """
    Base of all errors that the service raises on purpose.
    """


class ConfigError(ServiceError):
    """
    The configuration cannot be used. `problems` are (path, message) pairs, one for each mistake.
    """

    def __init__(self, problems: list[tuple[str, str]]) -> None:
        super().__init__("\n".join(f"{path}: {message}" for path, message in problems))
        self.problems = problems


class RequestError(ServiceError):
    """
    A received request was not taken.
    """


class MalformedRequest(RequestError):
    """
    The bytes are not the OTLP message that they should be. Sending them again cannot help.
    """


class RequestTooLarge(RequestError):
    """
    The request, or what it decompresses to, is over a limit. Sending it again cannot help.
    """


class Unauthenticated(RequestError):
    """
    The request carries no credentials, or none of the kind that is asked for.
    """


class PermissionDenied(RequestError):
    """
    The request carries credentials that are not ours.
    """


class Refused(RequestError):
    """
    Nothing more can be taken now: memory, queue or journal is full, or the service is stopping.
    """

    def __init__(self, reason: str, *, retry_after_s: float = 1.0) -> None:
        super().__init__(reason)
        self.reason = reason
        self.retry_after_s = retry_after_s
