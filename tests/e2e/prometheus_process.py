"""
A real Prometheus that scrapes once a second, and its query interface.
"""

import json
import shutil
import urllib.parse
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from e2e.peers import Peer, free_port, running

MISSING = None if shutil.which("prometheus") else "Prometheus is missing"


@dataclass(frozen=True)
class Prometheus:
    peer: Peer
    url: str

    def query(self, expression: str, at: float | None = None) -> dict[frozenset[tuple[str, str]], float]:
        """
        The value of each series that an instant query gives, by its labels; now, or *at* a Unix time.
        """
        moment = {} if at is None else {"time": f"{at:.3f}"}
        result = self._get("query", query=expression, **moment)["data"]["result"]
        return {frozenset(each["metric"].items()): float(each["value"][1]) for each in result}

    def last_scrape(self, target: str) -> float:
        """
        When the newest samples of *target* were taken.
        """
        (found,) = self.query(f'timestamp(up{{instance="{target}"}})').values()
        return found

    def exemplars(self, selector: str, start: float, end: float) -> list[dict[str, str]]:
        """
        The labels of the exemplars of the selected series between two Unix times.
        """
        found = self._get("query_exemplars", query=selector, start=str(start), end=str(end))["data"]
        return [exemplar["labels"] for series in found for exemplar in series["exemplars"]]

    def _get(self, what: str, **parameters: str) -> dict[str, Any]:
        address = f"{self.url}/api/v1/{what}?{urllib.parse.urlencode(parameters)}"
        with urllib.request.urlopen(address, timeout=10) as response:
            answer: dict[str, Any] = json.load(response)
        return answer


@contextmanager
def prometheus(directory: Path, targets: Sequence[str], *, rule_files: Sequence[Path] = ()) -> Iterator[Prometheus]:
    """
    A Prometheus that scrapes /metrics of the addresses *targets*.
    """
    directory.mkdir(parents=True, exist_ok=True)
    settings = {
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "scrape_configs": [{"job_name": "toolscore", "static_configs": [{"targets": list(targets)}]}],
        "rule_files": [str(file) for file in rule_files],
    }
    file = directory / "prometheus.yml"
    file.write_text(yaml.safe_dump(settings))
    address = f"127.0.0.1:{free_port()}"
    command = [
        "prometheus",
        f"--config.file={file}",
        f"--storage.tsdb.path={directory / 'tsdb'}",
        f"--web.listen-address={address}",
        "--enable-feature=exemplar-storage",
    ]
    with running(command, directory / "prometheus.log", ready=f"http://{address}/-/ready") as peer:
        yield Prometheus(peer, f"http://{address}")
