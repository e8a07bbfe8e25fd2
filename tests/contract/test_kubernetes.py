"""
The Kubernetes manifests: valid, locked down, and consistent with each other and with the configurations.
"""

import json
from pathlib import Path

import kubernetes_validate
import pytest
import yaml
from jsonschema import Draft7Validator
from kubernetes_manifests import NO_KUSTOMIZE, OVERLAYS, Manifest, containers, kustomized, manifests, pod_specs

DATA = Path(__file__).parents[1] / "data"
DEPLOY = Path(__file__).parents[2] / "deploy"
POD_MONITOR = Draft7Validator(json.loads((DATA / "schemas" / "podmonitor.jsonschema.json").read_text()))
VERSIONS = ("1.29", "1.37")
ALL = list(manifests())
PODS = list(pod_specs([manifest for _, manifest in ALL]))
CONTAINERS = [
    pytest.param(each, id=f"{each['name']}-{number}") for number, pod in enumerate(PODS) for each in containers(pod)
]
kustomize = pytest.mark.skipif(NO_KUSTOMIZE is not None, reason=str(NO_KUSTOMIZE))


def named(kind: str, name: str) -> Manifest:
    return next(found for _, found in ALL if (found["kind"], found["metadata"]["name"]) == (kind, name))


def check(manifest: Manifest, version: str) -> None:
    if manifest["kind"] == "PodMonitor":
        POD_MONITOR.validate(manifest)
    else:
        kubernetes_validate.validate(manifest, version, strict=True)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("manifest", [pytest.param(each, id=f"{file}-{each['kind']}") for file, each in ALL])
def test_a_manifest_is_valid(manifest: Manifest, version: str) -> None:
    check(manifest, version)


@kustomize
@pytest.mark.parametrize("overlay", OVERLAYS)
def test_an_overlay_is_valid_as_it_is_applied(overlay: str) -> None:
    for manifest in kustomized(overlay):
        check(manifest, VERSIONS[-1])


@kustomize
@pytest.mark.parametrize("overlay", OVERLAYS)
def test_a_change_of_a_configuration_restarts_its_pods(overlay: str) -> None:
    """
    Volumes name the ConfigMap with the digest of its content.
    """
    found = kustomized(overlay)
    maps = {each["metadata"]["name"] for each in found if each["kind"] == "ConfigMap"}
    mounted = {each["configMap"]["name"] for pod in pod_specs(found) for each in pod["volumes"] if "configMap" in each}

    assert mounted
    assert mounted <= maps
    assert all(name.rpartition("-")[0] for name in mounted)


@pytest.mark.parametrize(
    ("path", "wrong"),
    [(("spec", "replicas"), "three"), (("spec", "servceName"), "toolscore")],
    ids=["wrong type", "wrong key"],
)
def test_mistakes_are_found(path: tuple[str, str], wrong: str) -> None:
    manifest = json.loads(json.dumps(named("StatefulSet", "toolscore")))
    manifest[path[0]][path[1]] = wrong

    with pytest.raises(kubernetes_validate.ValidationError):
        check(manifest, VERSIONS[-1])


@pytest.mark.parametrize("pod", PODS)
def test_a_pod_runs_without_root_and_without_a_token(pod: Manifest) -> None:
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True


@pytest.mark.parametrize("container", CONTAINERS)
def test_a_container_is_locked_down_and_says_what_it_needs(container: Manifest) -> None:
    context = container["securityContext"]

    assert (True, False) == (context["readOnlyRootFilesystem"], context["allowPrivilegeEscalation"])
    assert ["ALL"] == context["capabilities"]["drop"]
    assert {"cpu", "memory"} <= set(container["resources"]["requests"])
    assert "memory" in container["resources"]["limits"]


@pytest.mark.parametrize("container", [each for each in CONTAINERS if "toolscore-" in str(each.id)])
def test_the_service_has_all_three_probes_and_time_to_end(container: Manifest) -> None:
    (pod,) = (pod for pod in PODS if container in containers(pod))

    assert {"startupProbe", "livenessProbe", "readinessProbe"} <= set(container)
    assert pod["terminationGracePeriodSeconds"] > 30  # service::shutdown_timeout


@pytest.mark.parametrize("container", [each for each in CONTAINERS if "toolscore-" in str(each.id)])
def test_memory_is_limited_above_where_the_service_limits_itself(container: Manifest) -> None:
    name = container["args"][-1].rpartition("/")[2]
    configured = yaml.safe_load((DEPLOY / "toolscore" / name).read_text())["processors"]
    limit_mib = int(container["resources"]["limits"]["memory"].removesuffix("Mi"))

    assert configured["tool_scoring"]["max_buffer_mib"] < configured["memory_limiter"]["limit_mib"] < limit_mib


def test_the_sidecar_is_ready_before_its_agent_and_ends_after_it() -> None:
    (sidecar,) = named("Deployment", "agent")["spec"]["template"]["spec"]["initContainers"]

    assert "Always" == sidecar["restartPolicy"]


def test_collectors_find_replicas_under_the_name_that_replicas_watch() -> None:
    def hostname(kind: str, name: str) -> str:
        (container,) = named(kind, name)["spec"]["template"]["spec"]["containers"]
        return next(str(each["value"]) for each in container["env"] if each["name"] == "REPLICAS_HOSTNAME")

    service = named("Service", "toolscore-replicas")
    assert "None" == service["spec"]["clusterIP"]
    assert {"toolscore-replicas"} == {hostname("StatefulSet", "toolscore"), hostname("Deployment", "otel-agents")}
    assert service["metadata"]["name"] == named("StatefulSet", "toolscore")["spec"]["serviceName"]


@pytest.mark.parametrize("kind", ["NetworkPolicy", "PodMonitor", "PodDisruptionBudget"])
def test_what_selects_pods_selects_some(kind: str) -> None:
    manifest = named(kind, "toolscore")
    wanted = (manifest["spec"].get("podSelector") or manifest["spec"]["selector"])["matchLabels"].items()
    labels = [each["spec"]["template"]["metadata"]["labels"].items() for _, each in ALL if "template" in each["spec"]]

    assert any(wanted <= found for found in labels)


def test_the_scraped_port_is_a_port_of_every_toolscore() -> None:
    (endpoint,) = named("PodMonitor", "toolscore")["spec"]["podMetricsEndpoints"]
    services = [param.values[0] for param in CONTAINERS if "toolscore-" in str(param.id)]

    for service in services:
        assert isinstance(service, dict)
        assert endpoint["port"] in {port["name"] for port in service["ports"]}
