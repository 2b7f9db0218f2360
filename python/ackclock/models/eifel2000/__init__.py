"""Ludwig & Sklower, "The Eifel Retransmission Timer" (2000)."""

from ackclock.models.eifel2000.row_model import SAMPLINGS, RowModel, Rows, exact

__all__ = ["SAMPLINGS", "RowModel", "Rows", "exact"]
