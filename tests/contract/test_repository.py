"""
The shape of the repository: what stands at its top, how long things are, and that nothing in it is bound to a machine.
"""

import ast
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
TOP_LEVEL = {
    ".ci",
    ".dockerignore",
    ".gitignore",
    "CHANGELOG.md",
    "LICENSE",
    "README.md",
    "deploy",
    "docker-compose.yml",
    "proto_adapters",
    "pyproject.toml",
    "requirements.lock",
    "service",
    "tests",
}
MAX_FILE_LINES = 500
MAX_FUNCTION_LINES = 60
# Places that may be named in prose, as the namespace of a schema, or as an example. Programs fetch from none of them.
KNOWN_HOSTS = re.compile(
    r"localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1\]|[\w.-]*\.?example(?:\.com|\.org)?|[\w-]+"
    r"|(?:www\.)?opentelemetry\.io|www\.apache\.org|json-schema\.org|www\.w3\.org|keepachangelog\.com|semver\.org"
)
DATA = ("tests/data/", "tests/fuzz/corpus/")


def files() -> list[Path]:
    """
    Every file that is or would be committed.
    """
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    return [ROOT / name for name in names if name and (ROOT / name).is_file()]


def python_files() -> list[Path]:
    """
    Every module that people write: generated ones are as long as what they list.
    """
    modules = [file for file in files() if file.suffix == ".py"]
    return [file for file in modules if "\nGENERATED from " not in file.read_text()]


def name_of(file: Path) -> str:
    return file.relative_to(ROOT).as_posix()


def lines_of_text() -> Iterator[tuple[str, str]]:
    """
    (place, line) of every text file that people write.
    """
    for file in files():
        name = name_of(file)
        if name.startswith(DATA):
            continue
        try:
            text = file.read_text()
        except UnicodeDecodeError:
            continue
        for number, line in enumerate(text.splitlines(), 1):
            yield f"{name}:{number}", line


def functions() -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for file in python_files():
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield f"{name_of(file)}:{node.lineno} {node.name}", node


def body_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """
    Lines from the first statement to the last, without the docstring.
    """
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


def test_the_top_level_holds_only_what_the_layout_names() -> None:
    assert set() == {file.relative_to(ROOT).parts[0] for file in files()} - TOP_LEVEL


def test_no_file_is_longer_than_one_idea() -> None:
    lengths = {file: len(file.read_text().splitlines()) for file in python_files()}

    assert {} == {name_of(file): lines for file, lines in lengths.items() if lines > MAX_FILE_LINES}


def test_no_function_is_longer_than_a_screen() -> None:
    lengths = {place: body_lines(function) for place, function in functions()}

    assert {} == {place: lines for place, lines in lengths.items() if lines > MAX_FUNCTION_LINES}


def test_every_module_says_what_it_is() -> None:
    modules = [file for file in python_files() if file.read_text().strip()]

    assert [] == [name_of(file) for file in modules if ast.get_docstring(ast.parse(file.read_text())) is None]


def test_names_of_test_modules_are_unique() -> None:
    names = Counter(file.name for file in python_files() if file.name.startswith("test_"))

    assert [] == [name for name, count in names.items() if count > 1]


def test_no_line_names_an_unknown_host() -> None:
    urls = [
        (place, host) for place, line in lines_of_text() for host in re.findall(r"https?://([^\s/:\"'`)<>]+)", line)
    ]

    assert [] == [
        (place, host) for place, host in urls if not host.startswith(("{", "$")) and not KNOWN_HOSTS.fullmatch(host)
    ]


def test_no_line_holds_a_path_of_one_machine() -> None:
    machine_path = re.compile(r"(?<![\w.$}*/-])/(?:root|home|work|Users)/\w")

    assert [] == [place for place, line in lines_of_text() if machine_path.search(line)]
