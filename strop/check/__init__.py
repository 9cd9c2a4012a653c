"""Proofs that a user can run: that no layout of a batch changes its gradient or its metrics."""
