"""Files in deploy/ match the server: variables, routes, metrics; and are valid for their tools."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from dragoman.cli.main import load_command
from dragoman.server.metrics import ServerMetrics
from dragoman.server.settings import Limits, ServerSettings
from tests.server.bundles import tiny_bundle

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
METRIC = re.compile(r"\b(?:dragoman|process)_[a-z_]+\b")
VARIABLE = re.compile(r"\bDRAGOMAN_([A-Z_]+)\b")
SUFFIXES = ("_bucket", "_sum", "_count")


def documents(path: Path) -> list[Any]:
    return list(yaml.safe_load_all(path.read_text(encoding="utf-8")))


def manifests() -> Iterator[dict[str, Any]]:
    for path in sorted((DEPLOY / "kubernetes").glob("*.yaml")):
        yield from documents(path)


def manifest(kind: str) -> dict[str, Any]:
    (found,) = (each for each in manifests() if each["kind"] == kind)
    return found


def container() -> dict[str, Any]:
    (only,) = manifest("Deployment")["spec"]["template"]["spec"]["containers"]
    found: dict[str, Any] = only
    return found


def families() -> set[str]:
    """The names of all metrics, as queries call them."""
    found: set[str] = set()
    for family in ServerMetrics().registry.collect():
        found |= {family.name, f"{family.name}_total"} | {sample.name for sample in family.samples}
        found |= {family.name + suffix for suffix in SUFFIXES} if family.type == "histogram" else set()
    return found


@pytest.mark.parametrize(
    "name",
    [
        "compose/alerts.yml",
        "compose/grafana/dashboards/dragoman.json",
        "kubernetes/autoscaler.yaml",
    ],
)
def test_metrics_are_those_of_the_server(name: str):
    named = set(METRIC.findall((DEPLOY / name).read_text(encoding="utf-8")))
    named -= {"dragoman_queue_wait_seconds_mean"}  # computed from two metrics by the rule of the adapter
    assert named
    assert named - families() == set()


def test_a_metric_that_is_not_there_is_seen():
    assert "dragoman_queue_wait_seconds_bucket" in families()
    assert "dragoman_queue_waits_bucket" not in families()


@pytest.mark.parametrize(
    "path", [DEPLOY / "Containerfile", DEPLOY / "compose/compose.yaml", DEPLOY / "kubernetes/deployment.yaml"], ids=str
)
def test_variables_are_settings(path: Path):
    known = {"cache", "models", *ServerSettings.model_fields, *(f"limits_{name}" for name in Limits.model_fields)}
    named = {name.lower() for name in VARIABLE.findall(path.read_text(encoding="utf-8"))}
    assert named
    assert named - known == set()


def test_probes_ask_for_what_there_is():
    paths = {container()[probe]["httpGet"]["path"] for probe in ("startupProbe", "readinessProbe", "livenessProbe")}
    assert paths == {"/readyz", "/livez"}
    assert container()["livenessProbe"]["httpGet"]["path"] == "/livez"  # a busy server is not a dead one


def test_there_is_time_to_drain():
    values = {each["name"]: each.get("value") for each in container()["env"]}
    drain = float(values["DRAGOMAN_DRAIN_NOTICE"]) + float(values["DRAGOMAN_DRAIN_SECONDS"])
    assert manifest("Deployment")["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] > drain
    compose = documents(DEPLOY / "compose/compose.yaml")[0]["services"]["dragoman"]
    assert int(compose["stop_grace_period"].rstrip("s")) > ServerSettings().drain_seconds
    unit = (DEPLOY / "systemd/dragoman.service").read_text(encoding="utf-8")
    (timeout,) = re.findall(r"^TimeoutStopSec=(\d+)$", unit, re.MULTILINE)
    assert int(timeout) > ServerSettings().drain_seconds


def test_the_container_may_write_temporary_files_and_its_cache_only():
    security = container()["securityContext"]
    assert security["readOnlyRootFilesystem"] is True
    assert security["capabilities"] == {"drop": ["ALL"]}
    assert all(
        mount.get("readOnly") or mount["mountPath"] in ("/tmp", "/var/cache/dragoman")
        for mount in container()["volumeMounts"]
    )
    assert re.search(r"^USER 65532:65532$", (DEPLOY / "Containerfile").read_text(encoding="utf-8"), re.MULTILINE)


def test_what_the_image_copies_is_there():
    root = DEPLOY.parent
    copied = re.findall(
        r"^COPY (?!--from)(.+) \S+$", (DEPLOY / "Containerfile").read_text(encoding="utf-8"), re.MULTILINE
    )
    names = [name for line in copied for name in line.split()]
    assert names
    assert [name for name in names if not (root / name).exists()] == []


def test_the_image_has_what_the_build_of_the_wheel_reads():
    root = DEPLOY.parent
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    text = (DEPLOY / "Containerfile").read_text(encoding="utf-8")
    (copied,) = re.findall(r"^COPY (pyproject.toml .+) \./$", text, re.MULTILINE)
    assert {project["readme"], *project["license-files"], "hatch_build.py"} <= set(copied.split())
    (installed,) = re.findall(r'pip install .*"\.\[(.+)\]"', text)
    assert set(installed.split(",")) <= set(project["optional-dependencies"])


@pytest.mark.skipif(not shutil.which("hadolint"), reason="no hadolint here")
def test_hadolint_accepts_the_containerfile():
    checked = subprocess.run(["hadolint", str(DEPLOY / "Containerfile")], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout


def test_kustomization_names_every_manifest():
    (listed,) = (each["resources"] for each in manifests() if each["kind"] == "Kustomization")
    others = {path.name for path in (DEPLOY / "kubernetes").glob("*.yaml")} - {"kustomization.yaml"}
    assert set(listed) == others


def test_the_dashboard_is_whole():
    board = json.loads((DEPLOY / "compose/grafana/dashboards/dragoman.json").read_text(encoding="utf-8"))
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])
    sources = documents(DEPLOY / "compose/grafana/provisioning/datasources/prometheus.yaml")[0]["datasources"]
    assert {panel["datasource"]["uid"] for panel in board["panels"]} == {source["uid"] for source in sources}


@pytest.mark.skipif(not shutil.which("nginx"), reason="no nginx here")
@pytest.mark.skipif(not shutil.which("openssl"), reason="no openssl here")
@pytest.mark.parametrize("name", ["dragoman.conf", "replicas.conf"])
def test_nginx_reads_its_part(tmp_path: Path, name: str):
    names = {"/etc/ssl/translate.example.org.pem": "certificate", "/etc/ssl/private/translate.example.org.key": "key"}
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=translate.example.org"),
            *("-keyout", str(tmp_path / "key"), "-out", str(tmp_path / "certificate")),
        ],
        check=True,
        capture_output=True,
    )
    part = (DEPLOY / "nginx" / name).read_text(encoding="utf-8")
    for path, stand_in in names.items():
        assert path in part
        part = part.replace(path, str(tmp_path / stand_in))
    whole = f"pid {tmp_path}/pid; error_log {tmp_path}/log; events {{}}\nhttp {{ access_log off;\n{part}\n}}\n"
    (tmp_path / "nginx.conf").write_text(whole, encoding="utf-8")
    checked = subprocess.run(
        ["nginx", "-t", "-p", str(tmp_path), "-c", str(tmp_path / "nginx.conf")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stderr


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="no systemd here")
@pytest.mark.parametrize(
    ("name", "instance"),
    [
        ("dragoman.service",) * 2,
        ("dragoman@.service", "dragoman@5001.service"),
        ("dragoman-adapt@.service", "dragoman-adapt@x.service"),
    ],
)
def test_systemd_reads_its_unit(tmp_path: Path, name: str, instance: str):
    unit = (DEPLOY / "systemd" / name).read_text(encoding="utf-8")
    (tmp_path / instance).write_text(unit.replace("/opt/dragoman/bin/dragoman", "/bin/true"), encoding="utf-8")
    checked = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(tmp_path / instance)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert instance not in checked.stderr, checked.stderr


def test_the_unit_of_several_servers_is_that_of_one_with_a_port():
    one, several = (
        (DEPLOY / "systemd" / name).read_text(encoding="utf-8") for name in ("dragoman.service", "dragoman@.service")
    )
    sections = [text[text.index("[Unit]") :] for text in (one, several)]
    assert sections[1].replace(" on port %i", "").replace(" --port %i", "") == sections[0]


BATCH = DEPLOY / "slurm/train.sbatch"
SLURM = {
    "scontrol": 'if [ "$1" = show ]; then echo node1; echo node2; else echo "$@" >> "$CALLS"; fi',
    "srun": 'echo "$TORCH_DISABLE_SHARE_RDZV_TCP_STORE $@" >> "$CALLS"; echo "$RECORD" > project/run/run.json',
}


@pytest.mark.skipif(not shutil.which("shellcheck"), reason="no shellcheck here")
def test_shellcheck_reads_the_batch_file():
    checked = subprocess.run(["shellcheck", str(BATCH)], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout


@pytest.mark.parametrize(
    ("ended", "code", "requeued"),
    [('"finished"', 0, False), ('"terminated"', 0, True), ("null", 1, False), ('"cut off"', 1, False)],
)
def test_the_batch_file_starts_torchrun_and_continues(tmp_path: Path, ended: str, code: int, requeued: bool):
    (tmp_path / "project/run").mkdir(parents=True)
    for name, script in SLURM.items():
        (tmp_path / name).write_text(f"#!/bin/bash\n{script}\n", encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    slurm = {
        "SLURM_NNODES": "2",
        "SLURM_JOB_ID": "12345",
        "SLURM_CPUS_PER_TASK": "8",
        "SLURM_JOB_NODELIST": "node[1-2]",
    }
    ours = {
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "CALLS": str(tmp_path / "calls"),
        "RECORD": f'{{"ended": {ended}}}',
    }
    done = subprocess.run(
        ["bash", str(BATCH), "project"], env={**os.environ, **slurm, **ours}, cwd=tmp_path, check=False, timeout=60
    )
    assert done.returncode == code
    calls = (tmp_path / "calls").read_text(encoding="utf-8")
    assert ("requeue 12345" in calls) == requeued
    started = shlex.split(calls.splitlines()[0])
    assert started[0] == "1", "each start has its own store"
    assert {"--rdzv-endpoint", "node1:22345", "training.micro_batches=2", "--resume"} <= set(started)
    check_options(started[started.index("dragoman") + 1 :])


def check_options(words: list[str]) -> None:
    """Raise an error for an option that the command does not have."""
    known = {name for parameter in load_command(words[0]).params for name in parameter.opts}
    assert {word for word in words if word.startswith("-")} <= known


def test_the_ray_job_has_options_of_the_command_and_a_token():
    (job,) = documents(DEPLOY / "kuberay/job.yaml")
    entrypoint = shlex.split(job["spec"]["entrypoint"])
    assert entrypoint[0] == "dragoman"
    check_options(entrypoint[1:])
    with pytest.raises(AssertionError):
        check_options([*entrypoint[1:], "--machines"])
    cluster = job["spec"]["rayClusterSpec"]
    assert cluster["authOptions"] == {"mode": "token"}
    workers = sum(int(group["rayStartParams"]["num-cpus"]) * group["replicas"] for group in cluster["workerGroupSpecs"])
    assert workers >= int(entrypoint[entrypoint.index("--workers") + 1])


def test_the_network_policy_selects_pods_of_the_ray_job():
    (job,) = documents(DEPLOY / "kuberay/job.yaml")
    (policy,) = documents(DEPLOY / "kuberay/network-policy.yaml")
    cluster = job["spec"]["rayClusterSpec"]
    selected = policy["spec"]["podSelector"]["matchLabels"].items()
    for group in (cluster["headGroupSpec"], *cluster["workerGroupSpecs"]):
        assert selected <= group["template"]["metadata"]["labels"].items()
    names = [
        each["podSelector"]["matchLabels"] for each in policy["spec"]["ingress"][0]["from"] if "podSelector" in each
    ]
    assert {"ray.io/originated-from-cr-name": job["metadata"]["name"]} in names


@pytest.mark.slow
def test_the_workflow_and_the_hooks_for_strings_run(tmp_path: Path):
    (workflow,) = documents(DEPLOY / "strings/github-workflow.yml")
    (config,) = documents(DEPLOY / "strings/pre-commit-config.yaml")
    hooks = {each["id"]: each["entry"] for each in config["repos"][0]["hooks"]}
    scripts = {each["name"]: each["run"] for job in workflow["jobs"].values() for each in job["steps"] if "run" in each}
    for script in (scripts["model"], scripts["check"], scripts["update"], *hooks.values()):
        check_options(shlex.split(script)[1:])
    project, programs = tmp_path / "project", tmp_path / "bin"
    (project / "locales").mkdir(parents=True)
    programs.mkdir()
    (programs / "dragoman").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m dragoman "$@"\n', encoding="utf-8")
    (programs / "dragoman").chmod(0o755)
    (project / "locales/en.json").write_text('{"a": "A house"}', encoding="utf-8")
    settings = {
        **workflow["env"],
        "MODEL": str(tiny_bundle(tmp_path / "en-pt", "en", "pt")),
        "PATH": f"{programs}:{os.environ['PATH']}",
    }

    def run(script: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, **settings}
        return subprocess.run(
            ["bash", "-e", "-c", script], env=environment, cwd=project, check=False, capture_output=True, text=True
        )

    begin = "git init -q --bare ../remote && git init -q && git remote add origin ../remote"
    assert run(begin).returncode == 0
    assert run(scripts["check"]).returncode == 1
    assert run(scripts["update"]).returncode == 0
    assert run(hooks["strings-check"]).returncode == 0
    pushed = run(scripts["push"])
    assert pushed.returncode == 0, pushed.stderr
    assert "up to date" in run(scripts["push"]).stdout
    (branch,) = run("git -C ../remote branch --list 'strings-*'").stdout.split()
    files = run(f"git -C ../remote ls-tree -r --name-only {branch}").stdout.split()
    assert files == ["locales/dragoman.lock", "locales/en.json", "locales/pt.json"]
    (project / "locales/en.json").write_text('{"a": "A house", "b": "A garden"}', encoding="utf-8")
    stopped = run(hooks["strings-check"])
    assert (stopped.returncode, stopped.stdout) == (1, "missing locales/pt.json: b\n")
