"""
Every generated document is what it would be generated as now, and what the README prints is so.
"""

import json
import re
from pathlib import Path

import pytest
from processing import Processing, ours

from proto_adapters.dialects import DIALECTS
from service.app.demo import EXPECTATION, RECORDINGS
from service.config import load_config
from service.documentation import DOCS, README, documents, main, stale_documents
from service.replay.files import read_requests

ROOT = README.parent
README_TRACE = re.compile(r"^\{\"name\": (?:.*?)\}\}$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:)([^)#]+)\)")


def test_no_generated_document_is_stale() -> None:
    assert [] == [path.name for path in stale_documents()]
    assert 0 == main(["--check"])


def test_every_dialect_has_its_place_in_the_documentation() -> None:
    page = documents()[DOCS / "dialects.md"]

    assert [] == [dialect.id for dialect in DIALECTS if f"(`{dialect.id}`)" not in page]


@pytest.mark.parametrize("document", [README, *sorted(DOCS.rglob("*.md"))], ids=lambda path: path.name)
def test_every_link_between_documents_leads_somewhere(document: Path) -> None:
    targets = LINK.findall(document.read_text(encoding="utf-8"))

    assert [] == [target for target in targets if not (document.parent / target).exists()]


async def test_the_trace_that_the_readme_shows_leaves_with_those_attributes() -> None:
    [*spans, root] = map(json.loads, README_TRACE.findall(README.read_text(encoding="utf-8")))
    processing = Processing(tool_selection_accuracy={}, expectations=[EXPECTATION])

    for request in read_requests(RECORDINGS / "langgraph_openinference_parallel.jsonl.gz"):
        await processing.processor.consume(*request)
    await processing.after(5)

    left = {span.name: ours(span.attributes) for span in processing.released}
    own = {key for span in spans for key in span["attributes"]}
    assert {key: value for key, value in root["attributes"].items() if key not in own} == left[root["name"]]
    assert {span["name"] for span in spans} <= left.keys()


def test_the_configuration_that_the_readme_shows_is_valid(tmp_path: Path) -> None:
    blocks = re.findall(r"```yaml\n(.*?)```", README.read_text(encoding="utf-8"), flags=re.DOTALL)
    whole = next(block for block in blocks if "tool_scoring" in block)
    (tmp_path / "toolscore.yaml").write_text(whole)

    assert "refund" == load_config([tmp_path / "toolscore.yaml"], {}).tool_scoring.expectations[0].name
