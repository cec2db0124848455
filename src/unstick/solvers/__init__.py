"""Solvers of the mixed complementarity problem, one file each, side by side behind one interface (`protocol.py`)."""
