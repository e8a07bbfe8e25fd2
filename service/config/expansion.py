"""
`${env:NAME}`, `${env:NAME:-default}` and `${file:path}` in the strings of a configuration; `$$` is a dollar.

The environment is a parameter; files are read relative to the working directory, as the Collector does. What a
reference gives is not expanded again. A value that is one reference and nothing else is parsed as YAML, so that it may
be a number or a block; inside a longer string it is text. An unset variable without a default is a mistake, not an
empty string: a forgotten token should stop the start.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from service.config.yaml_reader import MAX_TEXT_BYTES, SURROGATES, UnreadableYaml, Value, read_yaml

Location = tuple[str | int, ...]
"""Keys and list positions from the top of the configuration."""

_REFERENCE = re.compile(r"\$\$|\$\{(?P<body>[^{}$]*)\}|(?P<open>\$\{)")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Unexpandable(ValueError):
    """
    A reference cannot be replaced. The message never holds what it refers to.
    """


class Expansion:
    """
    One pass over a tree of values.

    `problems` are the references that could not be replaced; `texts` are the unparsed texts of values that came from a
    reference, for keys that hold strings (a token `0123` is not a number).
    """

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self.problems: list[tuple[Location, str]] = []
        self.texts: dict[Location, str] = {}

    def expand(self, value: Value, location: Location = ()) -> Value:
        if isinstance(value, dict):
            return {key: self.expand(item, (*location, key)) for key, item in value.items()}
        if isinstance(value, list):
            return [self.expand(item, (*location, index)) for index, item in enumerate(value)]
        return self._expand_text(value, location) if isinstance(value, str) and "$" in value else value

    def _expand_text(self, text: str, location: Location) -> Value:
        try:
            return self._replaced(text, location)
        except (Unexpandable, UnreadableYaml) as error:
            self.problems.append((location, str(error)))
            return None

    def _replaced(self, text: str, location: Location) -> Value:
        whole = _REFERENCE.fullmatch(text)
        if whole is None or whole["body"] is None:
            return "".join(self._pieces(text))
        self.texts[location] = self._resolve(whole["body"])
        return read_yaml(self.texts[location])

    def _pieces(self, text: str) -> Iterator[str]:
        position = 0
        for reference in _REFERENCE.finditer(text):
            yield text[position : reference.start()]
            yield self._piece(reference)
            position = reference.end()
        yield text[position:]

    def _piece(self, reference: re.Match[str]) -> str:
        if reference["open"]:
            raise Unexpandable("${ without its }, or a reference inside a reference; a dollar sign is written $$")
        return "$" if reference["body"] is None else self._resolve(reference["body"])

    def _resolve(self, body: str) -> str:
        scheme, colon, rest = body.partition(":")
        if colon and scheme == "env":
            return self._variable(rest)
        if colon and scheme == "file":
            return _file_text(rest)
        raise Unexpandable("should be ${env:NAME}, ${env:NAME:-default} or ${file:path}; a dollar sign is written $$")

    def _variable(self, body: str) -> str:
        name, dash, default = body.partition(":-")
        if not _NAME.fullmatch(name):
            raise Unexpandable("the name of an environment variable has letters, digits and underscores only")
        text = self._environ.get(name, default if dash else None)
        if text is None:
            raise Unexpandable("the environment variable " + name + " is not set and there is no :-default")
        if not text.isascii() and SURROGATES.search(text):
            raise Unexpandable("the environment variable " + name + " is not UTF-8 text")
        return text


def _file_text(path: str) -> str:
    try:
        return read_text(Path(path)).rstrip("\r\n")
    except (OSError, ValueError) as error:
        raise Unexpandable("cannot read the file: " + (getattr(error, "strerror", None) or str(error))) from None


def read_text(path: Path) -> str:
    """
    The text of a UTF-8 file of a size that a configuration may have. Raises `OSError` or `ValueError`.
    """
    with path.open("rb") as file:
        content = file.read(MAX_TEXT_BYTES + 1)
    if len(content) > MAX_TEXT_BYTES:
        raise ValueError("the file is larger than 1 MiB")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError("the file is not UTF-8 text") from None
