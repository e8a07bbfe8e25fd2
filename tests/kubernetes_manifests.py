"""
The manifests of `deploy/kubernetes`, as they stand and as kustomize puts them together.
"""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

Manifest = dict[str, Any]
FOLDER = Path(__file__).parents[1] / "deploy" / "kubernetes"
OVERLAYS = tuple(sorted(path.name for path in (FOLDER / "overlays").iterdir()))
NO_KUSTOMIZE = None if shutil.which("kubectl") else "kubectl, which holds kustomize, is missing"


def manifests() -> Iterator[tuple[str, Manifest]]:
    """
    (file, manifest) of everything but the kustomizations.
    """
    for file in sorted(FOLDER.rglob("*.yaml")):
        if file.name != "kustomization.yaml":
            for manifest in yaml.safe_load_all(file.read_text()):
                yield f"{file.relative_to(FOLDER)}", manifest


def kustomized(overlay: str) -> list[Manifest]:
    """
    What `kubectl apply -k` would send to a cluster.
    """
    command = ["kubectl", "kustomize", str(FOLDER / "overlays" / overlay)]
    built = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return list(yaml.safe_load_all(built))


def pod_specs(found: list[Manifest]) -> Iterator[Manifest]:
    for manifest in found:
        if "template" in manifest.get("spec", {}):
            yield manifest["spec"]["template"]["spec"]


def containers(pod: Manifest) -> list[Manifest]:
    return [*pod.get("initContainers", []), *pod["containers"]]
