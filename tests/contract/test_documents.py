"""
Every generated document is what it would be generated as now, and what the README prints is so.
"""

import re
from pathlib import Path

import pytest

from proto_adapters.dialects import DIALECTS
from service.config import load_config
from service.documentation import DOCS, README, documents, main, stale_documents

ROOT = README.parent
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


def test_the_configuration_that_the_readme_shows_is_valid(tmp_path: Path) -> None:
    blocks = re.findall(r"```yaml\n(.*?)```", README.read_text(encoding="utf-8"), flags=re.DOTALL)
    whole = next(block for block in blocks if "tool_scoring" in block)
    (tmp_path / "toolscore.yaml").write_text(whole)

    assert "refund" == load_config([tmp_path / "toolscore.yaml"], {}).tool_scoring.expectations[0].name
