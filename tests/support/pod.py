"""Owns a Kubernetes pod in tests: made from its manifest and run by crun, as a node would.

Not the kubelet: only what this project's manifest uses is understood, and anything else refused.
"""

from __future__ import annotations

import json
from typing import Any, Dict, List, Mapping, Sequence

import yaml

from tests.support.nspawn import Machine
from tests.support.recipes import Node

#: The image of every container: a root of its own over this directory of the machine.
IMAGE = "/srv/image"
_HOST_PATH_TESTS = {"Directory": "-d", "File": "-f"}
_SETUP = f"""
mkdir -p /srv/pod
mount -t tmpfs tmpfs /srv/pod
mkdir -p /srv/pod/over /srv/pod/work /srv/pod/rootfs
mount -t overlay overlay -o lowerdir={IMAGE},upperdir=/srv/pod/over,workdir=/srv/pod/work \\
    /srv/pod/rootfs
rm -f /srv/pod/rootfs/usr/bin/chronyc
cd /srv/pod; crun spec
"""
_USER = {"uid": 1000, "gid": 1000}


def only(mapping: Mapping[str, Any], *names: str) -> List[Any]:
    """The values of exactly these keys."""
    assert set(mapping) == set(names), f"{sorted(mapping)} are not {sorted(names)}"
    return [mapping[name] for name in names]


class Pod:
    """One pod: its init container can be run, its container probed."""

    def __init__(self, node: Node, manifest: str) -> None:
        self._node = node
        self._machine: Machine = node.machine
        version, kind, metadata, spec = only(
            yaml.safe_load(manifest), "apiVersion", "kind", "metadata", "spec"
        )
        assert (version, kind, list(metadata)) == ("v1", "Pod", ["name"])
        inits, containers, volumes = only(spec, "initContainers", "containers", "volumes")
        self._sources = self._host_paths(volumes)
        _, image, self._gate, self._gate_mounts = only(
            inits[0], "name", "image", "command", "volumeMounts"
        )
        _, same_image, probe, self._mounts = only(
            containers[0], "name", "image", "readinessProbe", "volumeMounts"
        )
        assert (len(inits), len(containers), image) == (1, 1, same_image)
        action, _, self.timeout = only(probe, "exec", "periodSeconds", "timeoutSeconds")
        (self.command,) = only(action, "command")
        self._machine.must(_SETUP)

    def start(self) -> None:
        """Run its container, with a program that does nothing."""
        self._bundle(["sleep", "infinity"], self._mounts)
        self._machine.must("crun --cgroup-manager=disabled run -d -b /srv/pod pod >/dev/null 2>&1")

    def stop(self) -> None:
        """End the container."""
        self._machine.must("crun delete --force pod; umount /srv/pod/rootfs /srv/pod")

    def may_start(self) -> bool:
        """Whether its init container lets it."""
        self._bundle(self._gate, self._gate_mounts)
        crun = ("crun", "--cgroup-manager=disabled", "run", "-b", "/srv/pod", "gate")
        return self._machine.run(*crun, timeout=30.0).status == 0

    def probe(self) -> str:
        """What the readiness probe says, and ``""`` when the pod is ready. It has to be in time."""
        done = self._machine.run("crun", "exec", "pod", *self.command, timeout=self.timeout)
        return f"{done.status}: {done.stdout}{done.stderr}" if done.status else ""

    def _host_paths(self, volumes: Sequence[Mapping[str, Any]]) -> Dict[str, str]:
        sources = {}
        for volume in volumes:
            name, source = only(volume, "name", "hostPath")
            path, kind = only(source, "path", "type")
            self._machine.must(f"test {_HOST_PATH_TESTS[kind]} {path}")
            sources[name] = path
        return sources

    def _bundle(self, command: Sequence[str], mounts: Sequence[Mapping[str, Any]]) -> None:
        spec = json.loads(
            self._machine.must("cd /srv/pod; rm -f config.json; crun spec; cat *.json")
        )
        spec["process"].update(terminal=False, args=list(command), user=_USER)
        spec["root"] = {"path": "rootfs", "readonly": True}
        for mount in mounts:
            name, inside, read_only = only(mount, "name", "mountPath", "readOnly")
            options = ["rbind", "rprivate", "ro" if read_only else "rw"]
            source = self._sources[name]
            spec["mounts"].append(
                {"destination": inside, "source": source, "type": "bind", "options": options}
            )
        self._node.write("/srv/pod/config.json", json.dumps(spec))
