from pathlib import Path

import numpy as np
import pytest

import ackclock as ac
from ackclock._core import InputError
from ackclock.reproduce.backoff2008 import hot
from ackclock.scenario import topology

FILE = Path(__file__).parents[1] / "scenarios" / "hot-like.edges"


def test_the_network_has_the_size_of_the_register():
    t = topology.hot_like()
    assert (len(t.nodes), len(t.edges)) == (67, 73)
    assert (len(t.servers), len(t.clients)) == (5, 48)
    degree = topology.degrees(t.edges)
    assert [degree[f"gw{k}"] for k in range(8)] == [16, 11, 10, 7, 7, 5, 5, 4]
    assert all(degree[host] == 1 for host in (*t.servers, *t.clients))
    rates = {edge[1]: edge[2] for edge in t.edges}
    assert {rates[s] for s in t.servers} == {"100Mbit/s"}
    assert all(1 <= float(rates[c].removesuffix("Mbit/s")) <= 10 for c in t.clients)
    assert {edge[3] for edge in t.edges} == {"10ms"}


def test_seeds_change_rates_and_servers_and_nothing_else():
    one, again, two = topology.hot_like(1), topology.hot_like(1), topology.hot_like(2)
    assert one == again
    assert one.servers != two.servers
    assert [e[:2] for e in one.edges] == [e[:2] for e in two.edges]


def test_the_file_is_what_the_rule_gives():
    assert FILE.read_text() == topology.text(topology.hot_like())
    assert topology.read(FILE) == [e[:2] for e in topology.hot_like().edges]


def test_figures_of_known_networks():
    star = [("hub", f"leaf{i}") for i in range(5)]
    assert topology.assortativity(star) == pytest.approx(-1)
    assert topology.degrees([*star, ("leaf0", "hub")])["hub"] == 5, "both ways are one link"
    ring = [(str(i), str((i + 1) % 6)) for i in range(6)]
    assert np.isnan(topology.assortativity(ring))
    # A path of four nodes: degrees 1-2, 2-2, 2-1.
    assert topology.assortativity([("a", "b"), ("b", "c"), ("c", "d")]) == pytest.approx(-0.5)


def test_any_list_of_edges_is_loaded(tmp_path):
    file = tmp_path / "own.edges"
    file.write_text("# mine\na, hub, 1Mbit/s\nb hub 2Mbit/s 5ms  # the other\n\n")
    assert topology.read(file) == [("a", "hub"), ("b", "hub")]
    file.write_text("a hub\nb\n")
    with pytest.raises(InputError, match="line 2"):
        topology.read(file)
    text = """
duration = "1s"
stacks.tcp = "sack"
path.kind = "graph"
path.edges_file = "hot-like.edges"
path.link = { rate = "1Mbit/s", queue = { kind = "red", target_delay = "5ms" } }
workload = { kind = "bulk", client = "h12", server = "h0" }
"""
    run = ac.Scenario(text, "own", FILE.parent).simulate()
    assert run.links.num_rows == 146
    assert run.flows["bytes_delivered"].to_pylist()[0] > 0


def test_five_peers_for_each_client():
    t = hot.network()
    run = ac.simulate(hot.path(t), hot.p2p(t, spread="10ms"), "sack", duration="100ms")
    pairs = set(zip(run.flows["client"].to_pylist(), run.flows["server"].to_pylist(), strict=True))
    assert len(pairs) == 5 * 48
    assert all(a != b for a, b in pairs)
    assert {sum(server == c for _, server in pairs) for c in t.clients} == {5}
