"""What `ackclock link` does with terminals, signals, processes and users."""

from __future__ import annotations

import glob
import os
import pty
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from test_link import COMMAND, ECHO, LINUX, PAYLOAD, ROUND_TRIPS, run, web

__all__ = ["web"]


@LINUX
def test_a_shell_reads_its_commands_and_has_processes_of_its_own():
    done = run("--delay", "1ms", "--quiet", input="echo $$; cat /proc/self/comm; exit 4\n", env=shell())
    assert done.returncode == 4, done.stderr
    # The first process of its namespace only waits.
    assert done.stdout == "2\ncat\n"


def shell():
    return {**os.environ, "SHELL": "/bin/sh"}


def terminal(arguments, keys):
    """Runs a program on a terminal and types `keys`, each once the text before it is on the screen; returns
    what was on the screen, and the exit status.
    """
    pid, screen = pty.fork()
    if pid == 0:
        os.execvp(arguments[0], arguments)
    seen, ends, rest = b"", time.monotonic() + 60, list(keys)
    while time.monotonic() < ends:
        if select.select([screen], [], [], 0.1)[0]:
            try:
                data = os.read(screen, 65536)
            except OSError:
                break
            if not data:
                break
            seen += data
        if rest and rest[0][0] in seen:
            time.sleep(0.1)
            os.write(screen, rest.pop(0)[1])
    else:
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    os.close(screen)
    text = seen.decode(errors="replace")
    if "user namespace" in text or "TUN device" in text:
        pytest.skip(text)
    return text, os.waitstatus_to_exitcode(status)


@LINUX
def test_the_terminal_interrupts_the_command_and_nothing_else(tmp_path):
    server, client = tmp_path / "echo.py", tmp_path / "client.py"
    server.write_text(ECHO)
    client.write_text(f"""
import time
print("ready", flush=True)
try:
    time.sleep(50)
except KeyboardInterrupt:
    import sys
    sys.argv[1:] = [""]
    {ROUND_TRIPS.strip().replace(chr(10), chr(10) + "    ")}
    sys.exit(5)
""")
    text, status = terminal(
        [
            *COMMAND,
            "--delay",
            "1ms",
            "--server",
            f"exec {sys.executable} {server}",
            "--",
            sys.executable,
            client,
        ],
        [(b"ready", b"\x03")],
    )
    assert status == 5 and "packets" in text, text
    text, status = terminal(
        [*COMMAND, "--delay", "1ms", "--", "sh", "-c", "echo ready; exec sleep 50"], [(b"ready", b"\x03")]
    )
    assert status == 128 + signal.SIGINT and "No packet passed" in text


@LINUX
@pytest.mark.skipif(not shutil.which("bash"), reason="bash has job control")
def test_a_shell_has_job_control_and_gives_the_terminal_back(monkeypatch):
    monkeypatch.setenv("SHELL", "/bin/bash")
    monkeypatch.setenv("PS1", "> ")
    command = " ".join(COMMAND)
    text, status = terminal(
        ["sh", "-c", f"{command} --delay 1ms --live; echo status $?; read x; echo got $x"],
        [
            (b"`exit` leaves it", b"stty -echo; sleep 100; echo stop$((1+1))ped\n"),
            (b"]0;", b"\x1a"),
            (b"Stopped", b"kill -KILL %1; echo killed$((1+1))\n"),
            (b"killed2", b"exit 3\n"),
            (b"status 3", b"hello\n"),
        ],
    )
    assert "got hello" in text and status == 0


@LINUX
def test_a_signal_of_a_process_is_passed_on():
    waits = "trap 'echo told; exit 6' TERM; echo ready; while :; do sleep 0.05; done"
    with subprocess.Popen(
        [*COMMAND, "--delay", "1ms", "--", "sh", "-c", waits],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout and process.stderr
        if process.stdout.readline() != "ready\n":
            pytest.skip(process.stderr.read())
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (6, "told\n") and "No packet passed" in err


def of(word):
    """Processes with this word among their arguments, and the networks that they are in."""
    found = {}
    for file in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            if word.encode() in Path(file).read_bytes().split(b"\0"):
                found[file] = os.readlink(file.replace("cmdline", "ns/net"))
        except OSError:
            pass
    return found


def in_networks(networks):
    """Processes in these networks."""
    found = []
    for file in glob.glob("/proc/[0-9]*/task/*/ns/net"):
        try:
            if os.readlink(file) in networks:
                found.append(file)
        except OSError:
            pass
    return found


@LINUX
def test_a_kill_leaves_nothing(tmp_path):
    """No process, not even one that has left its session, no network, no file."""
    commands, servers = f"{9000 + os.getpid() / 1e7:.7f}", f"{8000 + os.getpid() / 1e7:.7f}"
    server = tmp_path / "echo.py"
    server.write_text(ECHO)
    before = set(os.listdir("/tmp")), set(os.listdir(tmp_path))
    script = f"setsid sleep {commands} & echo ready; exec sleep {commands}"
    with subprocess.Popen(
        [
            *(*COMMAND, "--delay", "1ms"),
            *("--server", f"setsid sleep {servers} & exec {sys.executable} {server}"),
            *("--", "sh", "-c", script),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
    ) as process:
        assert process.stdout and process.stderr
        if process.stdout.readline() != "ready\n":
            pytest.skip(process.stderr.read())
        networks: set[str] = set()
        for _ in range(100):
            found = [of(commands), of(servers)]
            if len(found[0]) == 2 and len(found[1]) == 1:
                networks = {net for some in found for net in some.values()}
                break
            time.sleep(0.05)
        assert len(networks) == 2 and os.readlink("/proc/self/ns/net") not in networks
        process.kill()
        process.wait()
        for _ in range(200):
            left = [*of(commands), *of(servers), *in_networks(networks)]
            if not left:
                break
            time.sleep(0.05)
        assert not left
    assert set(os.listdir(tmp_path)) == before[1]
    assert not [name for name in set(os.listdir("/tmp")) - before[0] if "ackclock" in name]


@LINUX
def test_an_ordinary_user_needs_no_rights(web, tmp_path):
    """In a user namespace, in which the command is its user again."""
    if os.geteuid() != 0:
        pytest.skip("the other tests are this one for an ordinary user")
    if not all(map(shutil.which, ("setpriv", "unshare", "curl"))):
        pytest.skip("setpriv and unshare are needed to become an ordinary user, and curl")
    # A device that all may open, as most systems have, in a place that only these processes see.
    device = "mount -t tmpfs -o mode=755 tmpfs /dev/net && mknod -m 666 /dev/net/tun c 10 200"
    user = "setpriv --reuid=65534 --regid=65534 --clear-groups --bounding-set=-all --inh-caps=-all"
    before = ["unshare", "-m", "sh", "-c", f'{device} && exec {user} "$@"', "sh"]
    able = subprocess.run(
        [*before, sys.executable, "-c", "import ackclock"], capture_output=True, text=True, check=False
    )
    if able.returncode:
        pytest.skip(f"another user cannot run this Python here: {able.stderr.strip().splitlines()[-1:]}")
    ask = f'curl -s -o /dev/null -w "%{{size_download}} %{{speed_download}}" http://$ACKCLOCK_FAR:{web}/file'
    script = f"id -u; grep CapEff /proc/self/status; {ask}"
    done = run("--rate", "20Mbit/s", "--quiet", "--", "sh", "-c", script, before=before, cwd="/")
    lines = done.stdout.split("\n")
    assert done.returncode == 0 and lines[0] == "65534" and lines[1].split()[1] == "0" * 16, done.stderr
    size, speed = map(float, lines[2].split())
    # Bytes per second, the beginning included.
    assert size == 8_000_000 and 0.8 <= 8 * speed / (20e6 * PAYLOAD) <= 1.01


@LINUX
def test_root_of_a_user_namespace_may_as_well():
    """As in a container without a root of its own."""
    before = ["unshare", "--user", "--map-root-user"]
    if not shutil.which("unshare") or subprocess.run([*before, "true"], check=False).returncode:
        pytest.skip("user namespaces, and unshare, are needed")
    done = run("--delay", "1ms", "--quiet", "--", "id", "-u", before=before)
    assert (done.returncode, done.stdout, done.stderr) == (0, "0\n", "")


# Answers every question for an address with 192.0.2.99.
NAMES = """
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("127.0.0.77", 53))
print("ready", flush=True)
while True:
    data, peer = s.recvfrom(2000)
    end = data.index(0, 12) + 5
    is_a = data[end - 4 : end - 2] == b"\\0\\1"
    answer = b"\\xc0\\x0c\\0\\1\\0\\1\\0\\0\\0\\x05\\0\\4\\xc0\\0\\2\\x63" if is_a else b""
    head = data[:2] + b"\\x81\\x80\\0\\1" + bytes([0, bool(answer)]) + bytes(4)
    s.sendto(head + data[12:end] + answer, peer)
"""


@LINUX
def test_a_name_server_of_the_machine_itself_is_reached_over_the_link(tmp_path):
    if os.geteuid() != 0 or not shutil.which("unshare"):
        pytest.skip("only root may give itself another /etc/resolv.conf and serve names")
    file = tmp_path / "resolv.conf"
    file.write_text("nameserver 127.0.0.77\noptions timeout:5\n")
    with subprocess.Popen([sys.executable, "-c", NAMES], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout
        if server.stdout.readline() != "ready\n":
            pytest.skip("port 53 of 127.0.0.77 is in use")
        try:
            before = ["unshare", "-m", "sh", "-c", f'mount --bind {file} /etc/resolv.conf && exec "$@"', "sh"]
            ask = (
                "import socket, time; t = time.perf_counter(); "
                "print(socket.gethostbyname('name.test'), time.perf_counter() - t)"
            )
            done = run("--delay", "20ms", "--quiet", "--", sys.executable, "-c", ask, before=before)
        finally:
            server.kill()
    assert done.returncode == 0, done.stderr
    address, took = done.stdout.split()
    assert address == "192.0.2.99" and 0.04 <= float(took) < 2
    assert file.read_text().startswith("nameserver 127.0.0.77")
