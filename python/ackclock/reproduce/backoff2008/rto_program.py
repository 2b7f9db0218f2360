"""A program of the kernel's that ends linear timeouts after some expiries in a row: TCP*(n) itself, which no
socket option makes. It is a BPF program of the kind SOCK_OPS, attached to a control group of its own.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import struct
from collections.abc import Iterator
from pathlib import Path

from ackclock._core import MissingRightError

BPF = {"x86_64": 321, "aarch64": 280, "riscv64": 280}
"""The number of the call bpf(2), by machine."""
PROG_LOAD, PROG_ATTACH = 5, 8
SOCK_OPS, ATTACH_SOCK_OPS = 13, 3
"""BPF_PROG_TYPE_SOCK_OPS, BPF_CGROUP_SOCK_OPS."""
ACTIVE, PASSIVE, RTO_CB = 4, 5, 8
"""What a program is called for: a connection established by its opener, by its acceptor; an expiry."""
RTO_CB_FLAG = 1
SETSOCKOPT, GETSOCKOPT, CB_FLAGS_SET = 49, 57, 59
"""Functions of the kernel that a program may call."""
SOL_TCP, NODELAY, THIN_LINEAR_TIMEOUTS = 6, 1, 16
MARK = "TCP_NODELAY"
"""The option that marks a socket for the program."""
R0, R1, R2, R3, R4, R5, R6, FRAME = 0, 1, 2, 3, 4, 5, 6, 10
VALUE = -4
"""Where on its stack the program has the option's value."""
LOG = 65_536


def instruction(code: int, to: int = 0, of: int = 0, offset: int = 0, value: int = 0) -> bytes:
    """One instruction of BPF."""
    return struct.pack("<BBhi", code, of << 4 | to, offset, value)


def copy(to: int, of: int) -> bytes:
    """Copies a register."""
    return instruction(0xBF, to, of)


def load(to: int, value: int) -> bytes:
    """Sets a register."""
    return instruction(0xB7, to, value=value)


def field(to: int, offset: int) -> bytes:
    """Reads 32 bits of the context, which R6 has."""
    return instruction(0x61, to, R6, offset)


def call(function: int) -> bytes:
    """Calls a function of the kernel, which has its arguments in R1 to R5."""
    return instruction(0x85, value=function)


def option(number: int) -> bytes:
    """The arguments of a call about a socket's option, whose value is on the stack."""
    return b"".join(
        (
            copy(R1, R6),
            load(R2, SOL_TCP),
            load(R3, number),
            copy(R4, FRAME),
            instruction(0x07, R4, value=VALUE),
            load(R5, 4),
        )
    )


def store(value: int) -> bytes:
    """Puts a value where the option's is."""
    return instruction(0x62, FRAME, offset=VALUE, value=value)


def jump(code: int, register: int, value: int, over: bytes) -> bytes:
    """Jumps over what follows: 0x15 where the register has the value, 0x55 where not, 0xA5 where it is "
    "less."""
    return instruction(code, register, offset=len(over) // 8, value=value) + over


def program(n: int) -> bytes:
    """The program of TCP*(n). It asks to be called for the expiries of sockets that have the mark when they
    are established, and sets their linear timeouts at each: on for the first n in a row, then off.
    """
    leave = load(R0, 1) + instruction(0x95)
    ask = copy(R1, R6) + load(R2, RTO_CB_FLAG) + call(CB_FLAGS_SET)
    asked = instruction(0x61, R2, FRAME, VALUE) + jump(0x15, R2, 0, ask)
    established = store(0) + option(NODELAY) + call(GETSOCKOPT) + asked + leave
    # The first argument is how many expiries in a row came before this one.
    value = store(1) + field(R2, 4) + jump(0xA5, R2, n, store(0))
    expired = value + option(THIN_LINEAR_TIMEOUTS) + call(SETSOCKOPT) + leave
    begin = copy(R6, R1) + field(R2, 0)
    unknown = instruction(0x55, R2, offset=len(expired) // 8, value=RTO_CB) + expired
    # Established either way jumps to what comes after all others.
    rest = (len(unknown) + len(leave)) // 8
    opened = instruction(0x15, R2, offset=rest + 1, value=ACTIVE)
    accepted = instruction(0x15, R2, offset=rest, value=PASSIVE)
    return begin + opened + accepted + unknown + leave + established


def bpf(command: int, attributes: bytes) -> int:
    """Calls bpf(2). Raises `OSError`."""
    number = BPF.get(platform.machine())
    if number is None or platform.system() != "Linux":
        raise MissingRightError("the program for expiries needs Linux on x86-64, ARM64 or RISC-V")
    libc = ctypes.CDLL(None, use_errno=True)
    given = ctypes.create_string_buffer(attributes, max(len(attributes), 128))
    result = int(libc.syscall(number, command, given, len(given)))
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def loaded(code: bytes) -> int:
    """Loads a program; returns its file descriptor."""
    code_, license_ = ctypes.create_string_buffer(code), ctypes.create_string_buffer(b"Dual MIT/GPL")
    log = ctypes.create_string_buffer(LOG)
    attributes = struct.pack(
        "<IIQQIIQ",
        SOCK_OPS,
        len(code) // 8,
        ctypes.addressof(code_),
        ctypes.addressof(license_),
        1,
        LOG,
        ctypes.addressof(log),
    )
    try:
        return bpf(PROG_LOAD, attributes)
    except OSError as e:
        said = log.value.decode(errors="replace").strip().splitlines()
        raise MissingRightError(
            f"the kernel does not take the program for expiries: {e}{': ' + said[-1] if said else ''}"
        ) from None


def unified() -> Path:
    """Where control groups of version 2 are."""
    for line in Path("/proc/mounts").read_text(encoding="utf-8").splitlines():
        _, place, kind, *_ = line.split()
        if kind == "cgroup2":
            return Path(place)
    raise MissingRightError("no control groups of version 2 are mounted, to which the program is attached")


@contextlib.contextmanager
def sub_exponential(n: int) -> Iterator[None]:
    """Sockets that this process and its children open meanwhile, and that have TCP_NODELAY, are those of
    TCP*(n). Raises `MissingRightError` where the system does not permit it.
    """
    try:
        root = unified()
        mine = Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines()
        home = root / next(line[3:] for line in mine if line.startswith("0::")).lstrip("/")
        group = home / f"ackclock-{os.getpid()}"
        group.mkdir()
    except (OSError, StopIteration) as e:
        raise MissingRightError(f"no control group could be made for the program for expiries: {e}") from None
    try:
        descriptor = loaded(program(n))
        try:
            where = os.open(group, os.O_RDONLY)
            try:
                bpf(PROG_ATTACH, struct.pack("<IIII", where, descriptor, ATTACH_SOCK_OPS, 0))
            except OSError as e:
                raise MissingRightError(f"the program for expiries cannot be attached: {e}") from None
            finally:
                os.close(where)
        finally:
            os.close(descriptor)
        (group / "cgroup.procs").write_text(str(os.getpid()))
        try:
            yield
        finally:
            (home / "cgroup.procs").write_text(str(os.getpid()))
    finally:
        group.rmdir()
