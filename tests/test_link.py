"""`ackclock link`: commands behind an emulated link, judged by programs that know nothing of it."""

from __future__ import annotations

import json
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import ackclock as ac
from ackclock import _core
from ackclock.cli import run_command
from ackclock.link import report

LINUX = pytest.mark.skipif(not hasattr(_core, "link"), reason="`ackclock link` needs Linux")
COMMAND = [sys.executable, "-m", "ackclock", "link"]
HERE = "127.0.0.1"
# Of 1500 bytes of a packet, with timestamps.
PAYLOAD = 1448 / 1500

ECHO = """
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("0.0.0.0", 7000))
while True:
    data, peer = s.recvfrom(2000)
    s.sendto(data, peer)
"""
ROUND_TRIPS = """
import os, socket, sys, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.connect((sys.argv[1] or os.environ["ACKCLOCK_FAR"], 7000))
s.settimeout(5)
best = 9
for n in range(40):
    began = time.perf_counter()
    s.send(b"x")
    s.recv(10)
    best = min(best, time.perf_counter() - began)
    time.sleep(0.01)
print(best)
"""
# The rate at which the payload of a response comes once the first 2 MB are there.
DOWNLOAD = """
import os, socket, sys, time
s = socket.create_connection((os.environ["ACKCLOCK_FAR"], int(sys.argv[1])))
s.sendall(b"GET /file HTTP/1.0\\r\\n\\r\\n")
got = 0
while data := s.recv(1 << 16):
    got += len(data)
    now = time.perf_counter()
    if got >= 2_000_000 and "began" not in globals():
        began, at = now, got
print((got - at) * 8 / (now - began), got)
"""


def run(*arguments, before=(), **how):
    """Runs the command in a process of its own; skips where the system does not permit it."""
    done = subprocess.run(
        [*before, *COMMAND, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        **how,
    )
    for missing in ("user namespace", "TUN device", "PID namespace"):
        if done.returncode == 3 and missing in done.stderr:
            pytest.skip(done.stderr)
    return done


def in_time(tmp_path, *arguments):
    """Runs the command until the machine kept time; returns it and its numbers."""
    file = tmp_path / "summary.json"
    for _ in range(5):
        done = run("--summary", file, *arguments)
        assert done.returncode == 0, done.stderr
        found = json.loads(file.read_text())
        late = found["late"]
        if late["late"] <= 0.01 * late["deliveries"] and late["max"] < 0.02 and not found["undelivered"]:
            return done, found
    pytest.skip("the machine was too busy to keep time, five times")


@pytest.fixture
def web(tmp_path):
    """A web server of the machine with a file of 8 MB; its port."""
    folder = tmp_path / "web"
    folder.mkdir()
    (folder / "file").write_bytes(bytes(8_000_000))
    with socket.socket() as free:
        free.bind((HERE, 0))
        port = free.getsockname()[1]
    server = subprocess.Popen(
        [sys.executable, "-m", "http.server", str(port), "--bind", HERE, "--directory", folder],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    for _ in range(200):
        with socket.socket() as probe:
            if probe.connect_ex((HERE, port)) == 0:
                break
        time.sleep(0.05)
    yield port
    server.kill()
    server.wait()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "there is no link to emulate; give --rate"),
        (("--rate", "10"), "`--rate` is `10`, which is not a rate"),
        (("--up-delay", "5"), "`--up-delay` is `5`, which is not a time"),
        (("--delay", "5ms", "--loss", "200%"), "`--loss` is `2`, which is not between 0 and 1"),
        (("--rate", "1Mbit/s", "--queue", "codell"), "did you mean `codel`?"),
        (("--rate", "1Mbit/s", "--queue", "red(limt=3)"), "did you mean `limit`?"),
        (("--rate", "1Mbit/s", "--queue", "red(limit"), "`--queue red(limit` is no queue"),
        (("--rate", "1Mbit/s", "--queue", "2bdp"), "the link has no delay; give `--delay`"),
        (("--delay", "5ms", "--queue", "codel"), "a link without a rate has no queue"),
        (("--trace", "no such"), "`--trace` is `no such`, which does not exist"),
        (("--trace", "cellular.toml"), "cellular.toml:1: this is text"),
        (("--rate", "1Mbit/s", "--trace", "x"), "give one of the two"),
        (("--set", "bogus=1"), "`--set bogus` is not a known key"),
        (("--set", "bogus"), "`--set bogus` is not a key of a link and a value"),
        (("--scenario", "graph.toml"), "has a path of the kind `graph`"),
        (("--scenario", "no such"), "`no such` does not exist"),
        (("--scenario", "sweeps/backoff-choices.toml"), "is a sweep plan"),
        (("--delay", "5ms", "--pcap", "lossy.pcap"), "expected a folder, which gets a file for each end"),
        (("--delay", "5ms", "--pcap", "policer.toml"), "`policer.toml` is a file; give a folder"),
        (("--delay", "5ms", "--summary", "no/such"), "does not exist; give a file in one that does"),
    ],
)
@LINUX
def test_wrong_input_is_one_sentence(arguments, sentence, monkeypatch, capsys):
    monkeypatch.chdir(Path(__file__).parents[1] / "scenarios")
    assert run_command(["link", *arguments, "--", "true"]) == 2
    said = capsys.readouterr()
    assert sentence in said.err and said.err.count("\n") == 1 and not said.out
    assert not Path("lossy.pcap").exists()


@LINUX
def test_the_exit_status_and_the_output_are_those_of_the_command(tmp_path):
    for script, status in (("exit 0", 0), ("exit 7", 7), ("kill -TERM $$", 128 + signal.SIGTERM)):
        done = run("--delay", "1ms", "--", "sh", "-c", f"echo out; {script}")
        assert (done.returncode, done.stdout) == (status, "out\n"), done.stderr
    assert "No packet passed" in done.stderr
    done = run("--delay", "1ms", "--quiet", "true")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    done = run("--delay", "1ms", "--", "no such command")
    assert done.returncode == 127 and "`no such command` is not found" in done.stderr
    (tmp_path / "plain").write_text("x")
    done = run("--delay", "1ms", "--", tmp_path / "plain")
    assert done.returncode == 126 and "no program that may be run" in done.stderr


@LINUX
def test_a_round_trip_takes_the_delay_of_both_ways(tmp_path):
    echo = subprocess.Popen([sys.executable, "-c", ECHO])
    try:
        time.sleep(0.3)
        here = subprocess.run(
            [sys.executable, "-c", ROUND_TRIPS, HERE], capture_output=True, text=True, check=True
        )
    finally:
        echo.kill()
        echo.wait()
    server = tmp_path / "echo.py"
    server.write_text(ECHO)
    done, found = in_time(
        tmp_path,
        *("--up-delay", "20ms", "--down-delay", "10ms", "--server", f"exec {sys.executable} {server}", "--"),
        *(sys.executable, "-c", ROUND_TRIPS, ""),
    )
    took = float(done.stdout)
    assert 0.030 <= took <= 0.0303 + float(here.stdout) + 0.0005
    assert found["up"]["packets"] == found["down"]["packets"] == 40
    ping = shutil.which("ping")
    if ping:
        done = run("--delay", "20ms", "--quiet", "--", ping, "-n", "-c", "5", "-i", "0.2", "192.0.2.1")
        best = float(done.stdout.split("rtt min/avg/max/mdev = ")[1].split("/")[0])
        assert 40.0 <= best <= 41.0


@LINUX
def test_a_download_has_the_rate_of_the_link(web, tmp_path):
    done, found = in_time(
        tmp_path,
        *("--rate", "20Mbit/s", "--delay", "5ms", "--queue", "2bdp", "--"),
        *(sys.executable, "-c", DOWNLOAD, web),
    )
    got, size = map(float, done.stdout.split())
    assert size > 8_000_000
    assert 0.98 <= got / (20e6 * PAYLOAD) <= 1.01
    assert found["outside"] == {"connections": 1, "refused": 0, "datagrams": 0}
    # The queue of two bandwidth-delay products is 20 ms long.
    assert 0.018 <= found["down"]["queueing_delay"]["max"] <= 0.0215
    assert "full queue" in done.stderr
    curl = shutil.which("curl")
    if curl:
        url = f"http://$ACKCLOCK_FAR:{web}/file"
        done = run("--rate", "20Mbit/s", "--", "sh", "-c", f"{curl} -s {url} | wc -c")
        assert done.stdout.strip() == "8000000"


@LINUX
def test_a_trace_of_mahimahi_lets_packets_leave(web, tmp_path):
    trace = tmp_path / "trace"
    # Four packets of 1500 bytes in five milliseconds.
    trace.write_text("1\n2\n4\n5\n")
    done, _ = in_time(
        tmp_path,
        *("--down-trace", trace, "--delay", "5ms", "--queue", "100packets"),
        *("--", sys.executable, "-c", DOWNLOAD, web),
    )
    assert 0.97 <= float(done.stdout.split()[0]) / (0.8 * 12e6 * PAYLOAD) <= 1.01
    assert "a trace and 5 ms down and a delay of 5 ms up" in done.stderr


@LINUX
def test_losses_are_those_that_were_asked_for_and_reported(tmp_path):
    server = tmp_path / "echo.py"
    server.write_text(ECHO)
    client = """
import os, socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.connect((os.environ["ACKCLOCK_FAR"], 7000))
got = 0
for n in range(2000):
    s.send(b"x")
    time.sleep(0.0005)
    try:
        while s.recv(10, socket.MSG_DONTWAIT):
            got += 1
    except BlockingIOError:
        pass
s.settimeout(1)
try:
    while s.recv(10):
        got += 1
except TimeoutError:
    print(got)
"""
    done, found = in_time(
        tmp_path,
        *("--up-loss", "10%", "--seed", "3", "--server", f"exec {sys.executable} {server}", "--"),
        *(sys.executable, "-c", client),
    )
    got = int(done.stdout)
    # 4.5 standard deviations of a binomial.
    assert abs(got - 1800) <= 60
    assert found["up"]["dropped"]["wire"] == 2000 - got and found["down"]["packets"] == got
    assert "lost on the wire" in done.stderr


@LINUX
def test_the_outside_world_answers_and_refuses_as_it_is(tmp_path):
    """Datagrams and connections reach the machine; who refuses there refuses here."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as here, socket.socket() as closed:
        here.bind((HERE, 0))
        closed.bind((HERE, 0))

        def answer():
            data, peer = here.recvfrom(100)
            here.sendto(data.upper(), peer)

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        client = f"""
import os, socket, time
far = os.environ["ACKCLOCK_FAR"]
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
u.settimeout(5)
u.connect((far, {here.getsockname()[1]}))
u.send(b"hello")
print(u.recv(100).decode())
for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
    s = socket.socket(socket.AF_INET, kind)
    s.settimeout(5)
    began = time.perf_counter()
    try:
        s.connect((far, {closed.getsockname()[1]}))
        s.send(b"x")
        s.recv(1)
    except ConnectionRefusedError:
        print("refused", 0.02 <= time.perf_counter() - began < 1)
"""
        done = run("--delay", "10ms", "--quiet", "--", sys.executable, "-c", client)
        assert done.stdout.split("\n")[:3] == ["HELLO", "refused True", "refused True"], done.stderr
        thread.join(5)


@LINUX
def test_what_the_command_has_sent_arrives_after_its_end():
    with socket.create_server((HERE, 0)) as server:
        got = []

        def take():
            connection, _ = server.accept()
            with connection:
                while data := connection.recv(1 << 16):
                    got.append(len(data))

        thread = threading.Thread(target=take, daemon=True)
        thread.start()
        client = f"""
import os, socket
s = socket.create_connection((os.environ["ACKCLOCK_FAR"], {server.getsockname()[1]}))
s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
s.sendall(bytes(300_000))
"""
        done = run("--rate", "4Mbit/s", "--delay", "20ms", "--quiet", "--", sys.executable, "-c", client)
        assert done.returncode == 0, done.stderr
        thread.join(10)
        assert sum(got) == 300_000


@LINUX
def test_a_server_of_ones_own_is_waited_for_and_alone(tmp_path):
    ask = 'curl -s -o /dev/null -w "%{http_code}" http://$ACKCLOCK_FAR:8000/'
    if shutil.which("curl"):
        server = f"{sys.executable} -m http.server 8000 --directory {tmp_path}"
        done = run("--delay", "1ms", "--quiet", "--server", server, "--", "sh", "-c", ask)
        assert (done.returncode, done.stdout) == (0, "200"), done.stderr
    done = run("--delay", "1ms", "--quiet", "--server", "exit 4", "--", "true")
    assert done.returncode == 2 and "ended with exit status 4 before it listened" in done.stderr


@LINUX
def test_both_ends_are_captured(web, tmp_path):
    folder = tmp_path / "captures"
    done = run(
        *("--rate", "50Mbit/s", "--up-delay", "30ms", "--down-delay", "10ms", "--pcap", folder),
        *("--", sys.executable, "-c", DOWNLOAD, web),
    )
    assert done.returncode == 0, done.stderr
    assert sorted(p.name for p in folder.iterdir()) == ["ackclock.json", "far.pcapng", "near.pcapng"]
    near, far = (ac.read_capture(folder / f"{end}.pcapng") for end in ("near", "far"))
    assert len(near.connections) == len(far.connections) == 1
    # A folder of an earlier run is taken again, one with other files never.
    assert run("--delay", "1ms", "--pcap", folder, "--", "true").returncode == 0
    (folder / "thesis.tex").write_text("x")
    done = run("--delay", "1ms", "--pcap", folder, "--", "true")
    assert done.returncode == 2 and "holds other files, such as `thesis.tex`" in done.stderr
    assert (folder / "near.pcapng").exists()


@LINUX
def test_figures_of_each_second_fit_a_terminal():
    done = run(
        *("--rate", "10Mbit/s", "--delay", "150ms", "--loss", "1%", "--live", "--quiet"),
        *("--", sys.executable, "-c", "import time; time.sleep(2.5)"),
    )
    lines = done.stderr.splitlines()
    assert len(lines) == 2 and all("down" in line and "up" in line for line in lines), done.stderr
    widest = {
        "throughput": 123.4e6,
        "queueing_delay": 0.1234,
        "dropped_queue": 999,
        "dropped_wire": 9000,
    }
    assert len(report.line({"time": 9999.0, "up": widest, "down": widest})) <= 80
