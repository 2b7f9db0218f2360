# Everything happens in .venv and target; nothing else of this machine is touched.
#   make build   set up .venv and build the extension        make test    all tests, Rust and Python
#   make demo    what ackclock does, in two parts             make lint    formatting and lints
#   make bench   speed, beside other simulators               make lock    renew the lock files (needs uv)
#   make docs    the reference pages                          make papers  a page for each paper, with its figures
#   make fuzz    libFuzzer on every target (needs cargo-fuzz)  make exhaustive  every run of the search over small transfers
#   make shares  Linux's CUBIC and BBR beside its Reno, and the presets (four minutes of real time; needs root)
#   make linux   how close the presets of Linux are to this machine's kernel (an hour; needs root)
#   make example-quinn  quinn's congestion controllers in the simulator, with their passports
#   make wheel   a wheel for every Linux with glibc 2.17, and the sdist, in target/wheels    make wheel-check  installs it and runs the demo
#   make site    the site: guides, papers, gallery and reference, in target/site/index.html
#   make man     man pages, in target/man                  make systems  whether the crates compile for Windows and macOS (needs rustup)
#   make audit   known vulnerabilities, licences and sources of all dependencies (needs cargo-deny and the network)
#   make help    this list

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := build
.PHONY: help site build demo test test-rust test-python exhaustive shares linux fuzz fuzz-seeds audit bench lint lock docs papers man wheel wheel-check systems \
	example-quinn clean

VENV := .venv
BIN := $(VENV)/bin
# Exactly what a lock lists: files whose hashes are not there are refused.
INSTALL := install -q --disable-pip-version-check --no-deps --require-hashes
# The first Python of at least 3.10 on the path; PYTHON=... chooses another one.
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11 python3.10; do \
	"$$p" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null && echo "$$p" && break; done)
RUST_SOURCES := Cargo.toml Cargo.lock $(shell find crates -name '*.rs' -o -name Cargo.toml)
CORE := $(VENV)/.core-built

help:
	@sed -n 's/^#   make/make/p' Makefile | sed 's/  *make /\nmake /g' \
		| awk '{ name = $$2; $$1 = $$2 = ""; printf "make %-14s %s\n", name, substr($$0, 3) }'

build: $(CORE)
	@echo "ackclock is built: . $(BIN)/activate && ackclock --help" >&2

$(VENV)/.created:
	@test -n "$(PYTHON)" || { echo "ackclock needs Python 3.10 or newer; none is on the path (PYTHON=... names one)." >&2; exit 2; }
	@echo "Creating $(VENV) with $$($(PYTHON) --version)." >&2
	@# Some systems split ensurepip from Python; there pip or virtualenv of the system sets the environment up.
	@$(PYTHON) -m venv $(VENV) >/dev/null 2>&1 \
		|| $(PYTHON) -m virtualenv -q $(VENV) 2>/dev/null \
		|| { $(PYTHON) -m venv --clear --without-pip $(VENV) && $(PYTHON) -m pip --python $(BIN)/python install -q pip; } \
		|| { echo "No virtual environment could be made: install Python's venv module (python3-venv on Debian)." >&2; exit 2; }
	@touch $@

$(VENV)/.packages-installed: requirements/main.lock | $(VENV)/.created
	@echo "Installing the Python packages of requirements/main.lock: about half a minute." >&2
	@$(BIN)/python -m pip $(INSTALL) -r requirements/main.lock
	@touch $@

$(CORE): $(RUST_SOURCES) pyproject.toml $(VENV)/.packages-installed
	@command -v cargo >/dev/null || { echo "ackclock needs stable Rust 1.90 or newer; cargo is not on the path (see rust-lang.org)." >&2; exit 2; }
	@echo "Building the extension in release: three to four minutes on two cores, two after a change of our own crates." >&2
	@echo "The last crate, _core, takes two of them alone." >&2
	@PIP_QUIET=1 VIRTUAL_ENV="$(CURDIR)/$(VENV)" $(BIN)/maturin develop --release --locked
	@touch $@

demo: $(CORE)
	@$(BIN)/ackclock demo

test: test-rust test-python

test-rust:
	cargo test --workspace --locked --no-fail-fast

# What needs real time or the kernel's packets has the machine to itself (tests/conftest.py).
test-python: build
	@echo "Python tests: first those that share the cores, then those in real time." >&2
	$(BIN)/python -m pytest -m "not real_time" -n auto --dist loadgroup
	$(BIN)/python -m pytest -m real_time

# libFuzzer with the stable toolchain (fuzz/README.md): every target, or TARGET, for so many SECONDS each.
TARGET ?= packet options connection exchange capture encapsulated conversation shadow script script_lines scenario scenario_keys \
	delivery_trace schedule arrivals jitter edges
SECONDS ?= 60
fuzz:
	@cargo fuzz --version >/dev/null 2>&1 || { echo "make fuzz needs cargo-fuzz: cargo install cargo-fuzz" >&2; exit 2; }
	cd fuzz && for target in $(TARGET); do mkdir -p corpus/$$target; \
		RUSTC_BOOTSTRAP=1 cargo fuzz run -s none "$$target" corpus/$$target seeds/$$target -- -max_total_time=$(SECONDS) -max_len=2048; done

# The inputs in the tree, chosen anew from all that were found: those that together reach what all reach.
fuzz-seeds:
	$(PYTHON) fuzz/keep.py $(TARGET)

# `make test` searches 3 million of these runs; all 200 million take half an hour to an hour.
exhaustive:
	ACKCLOCK_EXHAUSTIVE=all cargo test -p ackclock-testkit --release --locked --test exhaustive every_rule_holds_in_all_runs -- --nocapture

# Over real packets, in real time; on a quiet machine.
shares:
	cargo test -p ackclock-drive --locked --test shares -- --ignored --nocapture

# Also over real packets, up to an hour; interrupted, it goes on.
linux: build
	@$(BIN)/python bench/linux.py

bench: build
	@$(BIN)/python bench/run.py

docs: build
	@$(BIN)/python docs/generate.py

# A page for each paper: every item is run; some minutes.
papers: build
	@$(BIN)/python -m ackclock.reproduce.pages

# In a workspace of its own, with its own lock; the first build takes some minutes. A passport that finds harm ends with 1.
example-quinn: build
	cd examples/quinn && cargo test -q --locked --no-default-features
	ACKCLOCK_EXAMPLES=1 $(BIN)/python -m pytest tests/test_example_quinn.py
	@$(BIN)/python examples/quinn/run.py run examples/quinn/three.toml --out runs/example-quinn
	@for window in quinn-newreno quinn-cubic quinn-bbr; do echo; \
		$(BIN)/python examples/quinn/run.py passport $$window --stack rack || test $$? -eq 1; done

# The pages of docs, with figures made on the way: target/site/index.html.
site: build $(VENV)/.site-installed
	@echo "Building the reference of the crates, then the pages: about three minutes." >&2
	RUSTDOCFLAGS="-D warnings" cargo doc -q --workspace --no-deps --locked
	rm -rf docs/_rust && mkdir docs/_rust && cp -r target/doc docs/_rust/rust
	$(BIN)/sphinx-build -q -W --keep-going -b html -d target/site-doctrees docs target/site
	$(BIN)/python docs/check.py target/site
	@echo "The site is in target/site: open target/site/index.html" >&2

$(VENV)/.site-installed: requirements/site.lock | $(VENV)/.created
	@$(BIN)/python -m pip $(INSTALL) -r requirements/site.lock
	@touch $@

# The same text as `--help`, a page for each command.
man: build
	@$(BIN)/python docs/man.py target/man

$(VENV)/.wheel-installed: requirements/wheel.lock | $(VENV)/.created
	@$(BIN)/python -m pip $(INSTALL) -r requirements/wheel.lock
	@touch $@

# One wheel for Python 3.10 and newer. Zig links against the symbols of glibc 2.17, whatever this system has.
WHEELS := target/wheels
wheel: $(VENV)/.wheel-installed man
	@echo "Building the wheel: about five minutes on two cores." >&2
	rm -rf $(WHEELS) ackclock.data/data/share/man
	mkdir -p ackclock.data/data/share/man/man1 && cp target/man/*.1 ackclock.data/data/share/man/man1
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/maturin build --release --locked --zig --compatibility manylinux2014 --strip --out $(WHEELS)
	$(BIN)/maturin sdist --out $(WHEELS)

# As a user installs it: in an environment of its own, with no compiler on the path.
wheel-check:
	$(PYTHON) requirements/wheel_check.py $(WHEELS)

# With warnings as errors; what runs there is tested by the hosted CI alone.
SYSTEMS := x86_64-pc-windows-gnu x86_64-apple-darwin aarch64-apple-darwin
systems:
	@command -v rustup >/dev/null || { echo "make systems needs rustup, which installs the libraries of other systems." >&2; exit 2; }
	rustup target add $(SYSTEMS)
	for system in $(SYSTEMS); do RUSTFLAGS="-D warnings" cargo check --locked --workspace --target $$system --target-dir target/systems; done

$(VENV)/.lint-installed: requirements/lint.lock | $(VENV)/.created
	@$(BIN)/python -m pip $(INSTALL) -r requirements/lint.lock
	@touch $@

lint: $(VENV)/.lint-installed build
	cargo fmt --all -- --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	$(BIN)/ruff check python tests docs bench requirements
	$(BIN)/ruff format --check python tests docs bench requirements
	$(BIN)/python docs/generate.py --check

# pip-audit has an environment of its own: what it needs is no part of what it audits.
$(VENV)/.audit-installed: requirements/audit.lock | $(VENV)/.created
	@$(BIN)/python -m venv --clear --without-pip $(VENV)/audit
	@$(BIN)/python -m pip --python $(VENV)/audit/bin/python $(INSTALL) -r requirements/audit.lock
	@touch $@

audit: $(VENV)/.audit-installed
	@cargo deny --version >/dev/null 2>&1 || { echo "make audit needs cargo-deny: cargo install --locked cargo-deny" >&2; exit 2; }
	cargo deny --locked --workspace check -D unmatched-skip -D license-exception-not-encountered
	cargo deny --locked --manifest-path fuzz/Cargo.toml --config deny.toml check -A unmatched-skip -A license-exception-not-encountered
	$(BIN)/python requirements/audit.py $(VENV)/audit/bin/pip-audit requirements/*.lock

# For every Python from 3.10 on and every system, with the hashes of all files. Versions that are locked stay.
COMPILE := uv pip compile -q --universal --python-version 3.10 --generate-hashes --no-header
lock:
	$(COMPILE) --group build --group test -o requirements/main.lock pyproject.toml
	$(COMPILE) --group wheel -o requirements/wheel.lock
	$(COMPILE) --group lint -o requirements/lint.lock
	$(COMPILE:3.10=3.11) --group site -o requirements/site.lock
	$(COMPILE) --group audit -o requirements/audit.lock

clean:
	rm -rf $(VENV) target ackclock.data/data/share/man python/ackclock/_core*.so
