"""Who may give work to the workers of a sweep: the sweep, and nobody else who has an account on the
machine.
"""

from __future__ import annotations

import datetime
import json
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

import ackclock as ac
from ackclock.results import owned
from ackclock.sweep import cluster
from test_sweep_processes import PLAN, finish, kept, sweep, wait_until

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")]

ATTACK = """
import asyncio, json, pathlib, sys, warnings, logging
logging.disable(logging.CRITICAL)
warnings.simplefilter("ignore")
import dask, distributed
from distributed.core import rpc
from distributed.protocol.pickle import dumps

dask.config.set({"distributed.comm.timeouts.connect": "3s", "distributed.comm.retry.count": 0})
proof = pathlib.Path(sys.argv[1])

def own(place, name):
    (pathlib.Path(place) / name).write_text("somebody else ran this")

async def worker(address, keys, name):
    # What a scheduler may ask of a worker and of what keeps it alive.
    connection = keys.get_connection_args("client") if keys else {}
    async with rpc(address, connection_args=connection, timeout=3) as peer:
        run = peer.run(function=dumps(own), args=dumps((str(proof), name)), wait=True)
        answer = await asyncio.wait_for(run, 5)
        if answer["status"] != "OK":
            raise answer["exception"]

found = []
for ip, port in json.loads(sys.argv[2]):
    for scheme in ("tcp", "tls"):
        keys = distributed.Security.temporary() if scheme == "tls" else None
        address, name = f"{scheme}://{ip}:{port}", f"{scheme}-{port}"
        try:
            with distributed.Client(address, timeout=3, security=keys, set_as_default=False) as client:
                client.submit(own, str(proof), name, pure=False).result(timeout=5)
            found.append(address)
        except BaseException:
            pass
        try:
            asyncio.run(worker(address, keys, name))
            found.append(address)
        except BaseException:
            pass
print(json.dumps(found))
"""


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    file = tmp_path / "plan.toml"
    file.write_text(PLAN.replace("SECONDS", "600"))
    return file


def attacked(folder: Path, sockets: list[tuple[str, int]]) -> list[str]:
    """What a program without any keys could make run, and where."""
    proof = folder / "proof"
    proof.mkdir()
    command = [sys.executable, "-c", ATTACK, str(proof), json.dumps(sockets)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=True)
    return json.loads(done.stdout) + [p.name for p in proof.iterdir()]


def listening(process: subprocess.Popen) -> list[tuple[str, int]]:
    found = []
    for p in [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]:
        with suppress(psutil.Error):
            found += [
                (c.laddr.ip, c.laddr.port)
                for c in p.net_connections("inet")
                if c.status == psutil.CONN_LISTEN
            ]
    return sorted(set(found))


def test_nobody_else_on_the_machine_can_run_anything_on_the_workers_of_a_sweep(plan):
    with sweep(plan, "--workers", "2") as process:
        sockets = wait_until(
            lambda: len(found := listening(process)) >= 5 and found, "scheduler and workers that listen"
        )
        assert {ip for ip, _ in sockets} == {"127.0.0.1"}
        assert attacked(plan.parent, sockets) == []
        assert process.poll() is None


def test_the_attack_succeeds_where_nothing_is_closed(tmp_path):
    import distributed

    with distributed.LocalCluster(1, threads_per_worker=1, dashboard_address=None) as open_to_all:
        worker = open_to_all.workers[0]
        addresses = [open_to_all.scheduler_address, worker.worker_address, worker.address]
        ports = [int(address.rpartition(":")[2]) for address in addresses]
        found = attacked(tmp_path, [("127.0.0.1", port) for port in ports])
    assert set(found) >= {*addresses, *(f"tcp-{port}" for port in ports)}


def certificate(folder: Path) -> dict[str, Path]:
    """A certificate that signs itself, and its key."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "test")])
    now = datetime.datetime.now(datetime.timezone.utc)
    builder = x509.CertificateBuilder(
        name, name, key.public_key(), x509.random_serial_number(), now, now + datetime.timedelta(days=1)
    )
    (folder / "cert.pem").write_bytes(
        builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    )
    plain = serialization.NoEncryption()
    (folder / "key.pem").write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    )
    return {
        "--tls-ca": folder / "cert.pem",
        "--tls-cert": folder / "cert.pem",
        "--tls-key": folder / "key.pem",
    }


def test_a_cluster_with_tls_is_used_with_its_keys_and_not_without(plan, tmp_path):
    files = certificate(tmp_path)
    plan.write_text(PLAN.replace("SECONDS", "1"))
    keys = [str(part) for pair in files.items() for part in pair]
    tls = [
        *("--tls-ca-file", str(files["--tls-ca"])),
        *("--tls-cert", str(files["--tls-cert"])),
        *("--tls-key", str(files["--tls-key"])),
    ]
    file = tmp_path / "scheduler.json"
    quiet = {"cwd": tmp_path, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    options = ["--scheduler-file", str(file), "--no-dashboard", *tls]
    scheduler = [
        sys.executable,
        "-m",
        "distributed.cli.dask_scheduler",
        "--protocol",
        "tls",
        "--host",
        "127.0.0.1",
        "--port",
        "0",
        *options,
    ]
    worker = [
        sys.executable,
        "-m",
        "distributed.cli.dask_worker",
        "--host",
        "127.0.0.1",
        "--nthreads",
        "1",
        "--no-nanny",
        *options,
    ]
    started = [subprocess.Popen(scheduler, **quiet)]
    try:
        started.append(subprocess.Popen(worker, **quiet))
        wait_until(lambda: file.exists() and file.read_text().strip().endswith("}"), "scheduler")
        address = json.loads(file.read_text())["address"]
        for without in ([], ["tcp"]):
            with sweep(plan, "--scheduler", address.replace("tls", "tcp") if without else address) as process:
                code, out, err = finish(process)
            assert (code, out, err.count("\n")) == (2, "", 1), err
            assert ("there is no scheduler at" if without else "needs keys; give --tls-ca") in err
        with sweep(plan, "--scheduler", address.removeprefix("tls://"), "--json", *keys) as process:
            code, out, err = finish(process)
        assert (code, err) == (0, ""), err
        assert json.loads(out)["made"] == kept(tmp_path / "kept")
    finally:
        for process in started:
            process.kill()
            process.wait()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--tls-ca", "a"], "give its `--scheduler` too"),
        (["--scheduler", "tls://h:1", "--tls-ca", "a"], "`--tls-ca` is given without `--tls-cert`"),
        (
            ["--scheduler", "tcp://h:1", "--tls-ca", "a", "--tls-cert", "b", "--tls-key", "c"],
            "`tcp://h:1` is not encrypted",
        ),
        (
            ["--scheduler", "tls://h:1", "--tls-ca", "a", "--tls-cert", "b", "--tls-key", "c"],
            "`--tls-ca` is `a`, which is not a file",
        ),
        (
            [
                "--scheduler",
                "h:1",
                *("--tls-ca", "plan.toml", "--tls-cert", "plan.toml", "--tls-key", "plan.toml"),
            ],
            "cannot be used",
        ),
    ],
)
def test_keys_that_do_not_fit_are_one_sentence(ackclock, plan, given, said):
    done = ackclock("sweep", "plan.toml", *given)
    assert done.code == 2 and done.is_one_sentence(), done
    assert said in done.err


def test_what_a_killed_sweep_put_aside_goes_with_the_next_one(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for name in ("ackclock-sweep-abcdefgh", "ackclock-sweep-mythesis"):
        (tmp_path / name / "inner").mkdir(parents=True)
        (tmp_path / name / "inner" / "file").write_text("x")
    with owned.marked(tmp_path / "ackclock-sweep-abcdefgh"), cluster._scratch() as inside:
        assert {p.name for p in tmp_path.iterdir()} == {
            Path(inside).name,
            "ackclock-sweep-abcdefgh",
            "ackclock-sweep-mythesis",
        }
    with cluster._scratch() as inside:
        assert {p.name for p in tmp_path.iterdir()} == {Path(inside).name, "ackclock-sweep-mythesis"}
    assert [p.name for p in tmp_path.iterdir()] == ["ackclock-sweep-mythesis"]


def test_an_open_cluster_is_a_warning_in_python():
    with pytest.warns(UserWarning, match="authenticates nobody"):
        ac.sweep.Scheduler("tcp://host:8786").warn()
