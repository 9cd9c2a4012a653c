"""A reward in strop's own form: it names the columns that it reads."""


def score(completion, answer):
    return float(completion.strip().endswith(answer))


def answer(completion):
    """What maj@k votes on."""
    return completion.strip()[-1:]
