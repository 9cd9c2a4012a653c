"""strop's objective inside other trainers, and a measure of how far their own losses are from the formula.

peers         which peer is installed, and whether it is the version that was read
trl           a GRPOTrainer whose loss is a strop row; trl_settings what it is refused under
verl          strop's rows as policy losses of verl
against       one report: a peer's own loss code (against_trl, against_verl) beside strop's rows, on the batch in hard
"""
