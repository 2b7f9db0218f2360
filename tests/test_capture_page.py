"""The page that `ackclock capture --html` writes: whole by itself, escaped, and drawn by a browser where
there is one.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import ackclock as ac
from ackclock import report
from ackclock.report import layers

FIXTURES = Path(__file__).parents[1] / "crates/ackclock-capture/tests/fixtures"
OUTAGE = FIXTURES / "kernel-bulk-and-an-outage.pcap.gz"
HEAVY = FIXTURES / "kernel-heavy-loss.pcap.gz"
VOID = {"meta", "link", "br", "img", "hr", "input"}


class Page(HTMLParser):
    """Elements of a page with their attributes, the text of scripts and styles, and whether every element is
    closed.
    """

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.inside: list[str] = []
        self.raw: list[tuple[str, dict[str, str | None], str]] = []
        self.text: list[str] = []
        self.feed(text)
        self.close()
        assert not self.inside

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.inside.append(tag)

    def handle_endtag(self, tag):
        assert self.inside.pop() == tag

    def handle_data(self, data):
        if self.inside and self.inside[-1] in ("script", "style"):
            self.raw.append((self.inside[-1], self.elements[-1][1], data))
        else:
            self.text.append(data)

    def of(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def read(path: Path) -> ac.Capture:
    return ac.read_capture(path, packets=True)


def check(text: str) -> Page:
    """The page loads nothing, runs only its own scripts, and its labels refer to elements that exist."""
    page = Page(text)
    assert not [
        name
        for name, _ in page.elements
        if name in ("link", "img", "iframe", "object", "embed", "base", "form")
    ]
    ids = [a["id"] for _, a in page.elements if "id" in a]
    assert len(ids) == len(set(ids))
    for name, attributes in page.elements:
        for key, value in attributes.items():
            assert not key.startswith("on"), (name, key)
            assert key not in ("src", "srcset", "style", "action"), (name, key)
            if key == "href":
                assert value[1:] in ids
            if key in ("aria-labelledby", "data-plots"):
                assert value in ids
    policy = next(a["content"] for a in page.of("meta") if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'; ")
    run = [(tag, data) for tag, a, data in page.raw if a.get("type") != "application/json"]
    assert [tag for tag, _ in run] == ["style", "script", "script"]
    for _, data in run:
        assert f"'sha256-{base64.b64encode(hashlib.sha256(data.encode()).digest()).decode()}'" in policy
    assert not re.search(r"@import|url\(", run[0][1])
    return page


def arrays(layer: dict) -> dict[str, np.ndarray]:
    return {
        k: np.frombuffer(base64.b64decode(v["data"]), {"u1": "<u1", "u4": "<u4", "f8": "<f8"}[v["type"]])
        for k, v in layer["arrays"].items()
    }


def data(page: Page) -> list[dict]:
    return [json.loads(text) for _, a, text in page.raw if a.get("type") == "application/json"]


def test_the_page_holds_what_the_capture_holds():
    capture = read(HEAVY)
    page = check(report.page([capture]))
    text = " ".join(" ".join(page.text).split())
    for sentence in capture.summary():
        assert sentence in text
    (figures,) = (d["figures"] for d in data(page))
    assert [f["id"].split("-")[-1] for f in figures] == ["sequence", "rtt", "flight"]
    found = {layer["label"].split(" (")[0]: arrays(layer) for layer in figures[0]["layers"]}
    t = capture.plot.trace(0)
    assert found["data"]["x"].size == (~t.marked).sum()
    assert found["data"]["high"].max() == 400_000
    assert found["by RACK"]["x"].size == (t.kind == "rack-retransmit").sum()
    assert found["by RACK"]["hollow"].sum() == (~t.needed[t.kind == "rack-retransmit"]).sum()
    for r in capture.connections[0]["directions"][0]["retransmissions"]:
        assert r["evidence"] in text
    # Each mark has its evidence.
    notes = [note for layer in figures[0]["layers"] for note in layer["notes"] if layer["shape"] == "marks"]
    assert any("SACK covers" in note for note in notes)
    # Every figure has a text alternative, and so has the table that scrolls.
    assert all(a.get("aria-labelledby") for a in page.of("div") if a.get("role") == "img")


def test_rows_of_what_if_and_further_sentences_are_shown_where_they_are():
    capture = read(OUTAGE)
    capture.connections[0]["directions"][0]["what_if"] = [
        {
            "timer": "eifel",
            "backoff": "none",
            "waited": 1.25,
            "spurious": 2,
            "eifel_spurious": None,
            "list": [1],
        },
        {
            "timer": "<b>rfc6298</b>",
            "backoff": "exponential",
            "waited": 4.125,
            "spurious": 0,
            "eifel_spurious": True,
            "list": [2],
        },
    ]
    capture.connections[0]["directions"][0]["limits"] = {
        "timeouts": 3.0,
        "congestion_window": 1.0,
        "slow_start": 0.0,
    }
    model = {"p": 0.01, "p_uncertain": True, "rate": 2e6, "ratio": 0.5}
    capture.connections[0]["directions"][0]["models"] = {
        "achieved": 1e6,
        "mathis": model,
        "pftk": {**model, "rate": None, "ratio": None},
    }
    page = check(report.page([capture]))
    text = " ".join(" ".join(page.text).split())
    assert "What other timers would have done in place of the" in text
    assert "Limited by timeouts 75 % 75 % congestion window 25 % 25 %" in text
    assert (
        "achieved while sending 1 Mbit/s Mathis et al. predicts 2 Mbit/s for p of 1 %; achieved 50 % of "
        "it, few loss episodes" in text
    )
    assert [float(a["value"]) for a in page.of("meter")] == [0.75, 0.25, 1.25, 4.125]
    assert "eifel 2 1.25 s none -" in text
    assert "<b>rfc6298</b> 0 4.12 s exponential yes" in text
    assert "What other timers would have done in place of the" not in report.page([read(OUTAGE)])


def test_hostile_names_and_evidence_stay_text(tmp_path):
    capture = read(HEAVY)
    evil = "</script><script>alert(1)</script><img src=x onerror=alert(2)>{{ 7*7 }}"
    capture.report["file"] = f'a"{evil}.pcap'.replace("/", "\u2215")
    capture.report["notes"].append(evil)
    direction = capture.connections[0]["directions"][0]
    for r in direction["retransmissions"]:
        r["evidence"] = evil
    capture.connections[0]["notes"].append(evil)
    text = report.page([capture])
    page = check(text)
    assert "".join(page.text).count(evil) >= len(direction["retransmissions"]) + 1
    assert any(
        evil in note
        for d in data(page)
        for f in d["figures"]
        for layer in f["layers"]
        for note in layer["notes"]
    )
    assert "{{ 7*7 }}" in text


def test_large_figures_are_thinned_with_a_note(monkeypatch):
    monkeypatch.setattr(layers, "MOST", 100)
    capture = read(OUTAGE)
    page = check(report.page([capture]))
    (figures,) = (d["figures"] for d in data(page))
    for figure in figures:
        for layer in figure["layers"]:
            if layer["shape"] in ("bars", "dots"):
                assert arrays(layer)["x"].size <= 100
    text = " ".join(" ".join(page.text).split())
    assert re.search(r"Shown: 100 of 277 segments", text)
    # All retransmissions are listed.
    marks = sum(arrays(layer)["x"].size for layer in figures[0]["layers"] if layer["shape"] == "marks")
    assert marks == capture.connections[0]["directions"][0]["retransmitted_packets"]


def test_the_command_writes_the_page_and_only_over_pages(ackclock, tmp_path):
    path = tmp_path / "page.html"
    for _ in range(2):
        done = ackclock("capture", OUTAGE, HEAVY, "--html", path, "--json")
        assert done.code == 0, done
        assert str(path) in done.err
        assert len(done.json) == 2
    page = check(path.read_text("utf-8"))
    assert len(data(page)) == 2
    assert [p.name for p in tmp_path.iterdir()] == ["page.html"]


def test_a_capture_without_connections_has_a_page(ackclock, tmp_path):
    empty = tmp_path / "empty.pcap"
    empty.write_bytes(bytes.fromhex("d4c3b2a1020004000000000000000000ffff000001000000"))
    done = ackclock("capture", empty, "--html", tmp_path / "page.html")
    assert done.code == 0, done
    assert "There is no TCP connection in this capture." in (tmp_path / "page.html").read_text("utf-8")


def test_a_browser_draws_it_without_complaint_and_without_the_network(tmp_path):
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if not browser:
        pytest.skip("there is no Chromium here")
    path = report.write([read(HEAVY)], tmp_path / "page.html")
    command = [
        browser,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--enable-logging=stderr",
        "--window-size=1200,8000",
    ]
    # The window is tall: all figures are in view, and are drawn at once.
    command += ["--virtual-time-budget=4000", "--dump-dom"]
    done = subprocess.run(
        [*command, f"--user-data-dir={tmp_path / 'profile'}", path.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    if done.returncode != 0 or "<body" not in done.stdout:
        pytest.skip(f"Chromium does not start here: {done.stderr.strip().splitlines()[-1:]}")
    # Refused by the page's policy, errors of scripts: all of it is said on the console.
    assert "CONSOLE" not in done.stderr, done.stderr
    assert done.stdout.count('class="uplot') == 3
    assert done.stdout.count('aria-pressed="true"') > 10
