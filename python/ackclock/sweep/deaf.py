"""Loaded first in worker processes: Ctrl-C is for the sweep, which then ends its workers, though the terminal
sends it to them as well.
"""

import signal

signal.signal(signal.SIGINT, signal.SIG_IGN)
