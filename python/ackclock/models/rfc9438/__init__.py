"""RFC 9438, "CUBIC for Fast and Long-Distance Networks" (2023): its response function."""

from ackclock.models.rfc9438.response import average_window, bandwidth, loss_for_window, window_alone

__all__ = ["average_window", "bandwidth", "loss_for_window", "window_alone"]
