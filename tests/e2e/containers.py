"""
Builds and runs containers with Debian's buildah and podman, without a daemon and without touching the machine's own
container storage.

Images of a registry are replaced by stand-ins of the same name, made of Debian's packages. What each setting is for:
`runc` and the cgroup manager, because the machine may have cgroups of the first version and no systemd; the limits,
because it may not allow raising them.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from e2e.collector_build import cache_directory

ROOT = Path(__file__).parents[2]
PROGRAMS = ("buildah", "podman", "runc", "debootstrap")
MISSING = ", ".join(program for program in PROGRAMS if shutil.which(program) is None)
BASE_IMAGE = "python:3.11-slim-bookworm"
BASE_PACKAGES = "python3,python3-venv,python3-pip,ca-certificates"
TRUSTED_CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
COMMAND_TIMEOUT_S = 900
STORAGE = """\
[storage]
driver = "overlay"
graphroot = "{directory}/graph"
runroot = "{directory}/run"
"""
ENGINE = """\
[containers]
default_ulimits = ["nofile=16384:16384", "nproc=16384:16384"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
[network]
network_backend = "netavark"
network_config_dir = "{directory}/networks"
"""


@dataclass(frozen=True)
class Engine:
    """
    buildah and podman over a storage of their own.
    """

    directory: Path

    def podman(self, *arguments: str) -> str:
        """
        What a podman command prints.
        """
        return self._run("podman", *arguments).stdout.strip()

    def logs(self, container: str) -> str:
        """
        What a container wrote, to both of its outputs.
        """
        done = self._run("podman", "logs", container)
        return done.stdout + done.stderr

    def build(self, tag: str, file: Path = ROOT / "deploy" / "Dockerfile", context: Path = ROOT) -> None:
        """
        Build an image, the service's from the checkout unless another is named, as its file stands.
        """
        trust = f"{TRUSTED_CERTIFICATES}:{TRUSTED_CERTIFICATES}:ro"
        options = ["--format", "docker", "--isolation", "chroot", "--pull-never", "--layers", "-v", trust]
        self._run("buildah", "bud", *options, "-t", tag, "-f", str(file), str(context))

    def import_base(self) -> None:
        """
        Put the stand-in of the official Python image into the storage, under the official name.
        """
        path = "ENV PATH=/usr/local/bin:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin"
        self.podman("import", "--quiet", "--change", path, str(base_archive()), BASE_IMAGE)

    @property
    def environ(self) -> dict[str, str]:
        """The environment in which podman and buildah find their storage."""
        return {
            **os.environ,
            "CONTAINERS_STORAGE_CONF": str(self.directory / "storage.conf"),
            "CONTAINERS_CONF": str(self.directory / "containers.conf"),
        }

    def _run(self, *command: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            command, env=self.environ, capture_output=True, text=True, timeout=COMMAND_TIMEOUT_S, check=False
        )
        if done.returncode != 0:
            raise CommandFailed(command, done.stdout + done.stderr)
        return done


class CommandFailed(Exception):
    """
    A command of the engine failed. The message holds the end of what it wrote.
    """

    def __init__(self, command: tuple[str, ...], output: str) -> None:
        super().__init__(f"{' '.join(command)}:\n{output[-4000:]}")


@contextmanager
def engine(directory: Path) -> Iterator[Engine]:
    """
    An engine whose containers, images and mounts are gone when the block is left.
    """
    for name, content in (("storage.conf", STORAGE), ("containers.conf", ENGINE)):
        (directory / name).write_text(content.format(directory=directory))
    running = Engine(directory)
    try:
        yield running
    finally:
        running.podman("rm", "--all", "--force", "--time", "0")
        running.podman("rmi", "--all", "--force")
        running.podman("system", "reset", "--force")


def base_archive() -> Path:
    """
    The files of the stand-in base image: Debian with Python, made once and kept in the cache.
    """
    archive = cache_directory() / "python-bookworm.tar"
    if not archive.exists():
        root = archive.with_suffix(".root")
        shutil.rmtree(root, ignore_errors=True)
        root.mkdir(parents=True)
        _bootstrap(root)
        unfinished = archive.with_suffix(".unfinished")
        subprocess.run(["tar", "--create", "--directory", str(root), "--file", str(unfinished), "."], check=True)
        unfinished.rename(archive)
        shutil.rmtree(root)
    return archive


def _bootstrap(root: Path) -> None:
    """
    Debian's Python under the names and with the freedom that the official image gives it.
    """
    command = ["debootstrap", "--variant=minbase", f"--include={BASE_PACKAGES}", "bookworm", str(root)]
    subprocess.run(command, check=True, timeout=COMMAND_TIMEOUT_S, stdout=subprocess.DEVNULL)
    for name, target in (("python", "python3"), ("python3", "python3"), ("pip", "pip3")):
        (root / "usr/local/bin" / name).symlink_to(f"/usr/bin/{target}")
    for marker in root.glob("usr/lib/python3*/EXTERNALLY-MANAGED"):
        marker.unlink()
    for package in root.glob("var/cache/apt/archives/*.deb"):
        package.unlink()
