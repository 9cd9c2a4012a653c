"""strop's objective inside other trainers, and a measure of how far their own losses are from the formula.

peers         which peer is installed, and whether it is the version that was read
trl           a GRPOTrainer whose loss is a strop row
against       one report: a peer's own loss code beside strop's rows
"""
