"""Multigrid on compact sparse matrices, from interchangeable parts: transfers, coarse matrices, cycles."""
