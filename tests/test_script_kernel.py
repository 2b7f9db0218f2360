"""Scripts against the kernel's TCP."""

import json

import pytest

SERVER = """`sysctl -q net.ipv4.tcp_timestamps=0`
 0  socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0  bind(3, ..., ...) = 0
+0  listen(3, 1) = 0
+0  < S 0:0(0) win 60000 <mss 1000,sackOK>
+0  > S. 0:0(0) ack 1 <mss 1460,nop,nop,sackOK>
+.1 < . 1:1(0) ack 1 win 60000
+0  accept(3, ..., ...) = 4
+0  write(4, ..., 2000) = 2000
+0  > P. 1:2001(2000) ack 1
+0  %{ assert tcpi_unacked == 2, tcpi_unacked }%
"""


@pytest.mark.parametrize("world", ["engine", "kernel"])
def test_a_script_runs_on_either(ackclock, tmp_path, world):
    (tmp_path / "server.pkt").write_text(SERVER)
    done = ackclock("script", "--world", world, "--tolerance", "25ms", "--json", "server.pkt")
    if world == "kernel" and done.code == 2:
        assert done.is_one_sentence() and ("TUN" in done.err or "namespaces" in done.err)
        pytest.skip(done.err)
    assert done.code == 0, done.out
    (outcome,) = json.loads(done.out)
    assert outcome["passed"] and outcome["events"] == 10
    assert outcome["timeline"][4]["got"] == "> S. 0:0(0) ack 1 <mss 1460,nop,nop,sackOK>"


def test_the_kernel_takes_no_stack(ackclock, tmp_path):
    (tmp_path / "server.pkt").write_text(SERVER)
    done = ackclock("script", "--world", "kernel", "--stack", "sack", "server.pkt")
    assert done.code == 2 and done.is_one_sentence()
    assert "`--stack sack` says what the engine runs" in done.err
