"""An existing cluster, and how to reach it."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ackclock._core import InputError

OPTIONS = {"ca": "--tls-ca", "cert": "--tls-cert", "key": "--tls-key"}
"""The command's options by the names of the files that they give."""
CLOSED = ("tls://", "wss://")
"""Schemes of addresses at which both ends authenticate themselves."""


def _warn(sentence: str) -> None:
    warnings.warn(sentence, stacklevel=2)


@dataclass(frozen=True)
class Scheduler:
    """A Dask scheduler: its address, and the files (PEM) with which client and cluster authenticate each
    other.

    ca: the certificate that has signed those of the cluster. cert, key: of the client. Without them Dask's
    own configuration is used (`distributed.comm.tls`). note: called with a sentence if the cluster does not
    authenticate its clients; a warning by default.
    """

    address: str
    ca: str | os.PathLike[str] | None = None
    cert: str | os.PathLike[str] | None = None
    key: str | os.PathLike[str] | None = None
    note: Callable[[str], None] = _warn

    @staticmethod
    def of(given: str | Scheduler) -> Scheduler:
        """The scheduler at an address; a `Scheduler` is returned as it is."""
        return given if isinstance(given, Scheduler) else Scheduler(given)

    def files(self) -> dict[str, str]:
        """The files that are given, by name."""
        return {name: os.fspath(file) for name in OPTIONS if (file := getattr(self, name)) is not None}

    def reached(self) -> str:
        """The address with its scheme."""
        return f"tls://{self.address}" if self.files() and "://" not in self.address else self.address

    def check(self) -> None:
        """Refuses what does not go together."""
        files = self.files()
        missing = [OPTIONS[name] for name in OPTIONS if name not in files]
        if files and missing:
            raise InputError(
                f"`{OPTIONS[next(iter(files))]}` is given without `{missing[0]}`; give all of "
                f"{', '.join(OPTIONS.values())}, or none"
            )
        if files and not self.reached().startswith(CLOSED):
            raise InputError(
                f"`{self.address}` is not encrypted, and `{OPTIONS['ca']}` is for TLS; give an "
                "address such as `tls://host:8786`"
            )

    def security(self) -> Any:
        """Dask's own value for it: of the files, or of Dask's configuration."""
        import distributed

        self.check()
        files = self.files()
        if not files:
            configured = distributed.Security()
            if self.address.startswith(CLOSED[0]) and not (
                configured.tls_ca_file and configured.tls_client_cert
            ):
                raise InputError(
                    f"`{self.address}` needs keys; give {', '.join(OPTIONS.values())}, or "
                    "set them in Dask's configuration"
                )
            return configured
        for name, file in files.items():
            if not os.path.isfile(file):
                raise InputError(f"`{OPTIONS[name]}` is `{file}`, which is not a file; give one in PEM")
        found = distributed.Security(
            require_encryption=True,
            tls_ca_file=files["ca"],
            tls_client_cert=files["cert"],
            tls_client_key=files["key"],
        )
        try:
            found.get_connection_args("client")
        except OSError as e:
            why = e.strerror or type(e).__name__
            raise InputError(
                f"the files of `{'`, `'.join(OPTIONS.values())}` cannot be used ({why}); give a "
                "certificate and its key in PEM"
            ) from None
        return found

    def warn(self) -> None:
        """Notes it if the cluster does not authenticate its clients."""
        if not self.reached().startswith(CLOSED):
            self.note(
                f"the cluster at `{self.address}` authenticates nobody: whoever reaches it can run "
                "programs as its workers and as you; start it with TLS, and give `--tls-ca`, "
                "`--tls-cert` and `--tls-key`"
            )
