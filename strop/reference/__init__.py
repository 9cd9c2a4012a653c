"""The formulas as plain loops over NumPy float64, readable beside the papers: the oracle that strop is tested against.

The names and arguments are those of strop itself, on arrays in the place of tensors. Nothing here is clever, shared
with strop.objective, or fast. `policy_loss` also returns the gradient, written out by hand from the closed forms.
"""

from strop.reference.advantage import advantages
from strop.reference.aggregation import token_weights
from strop.reference.objective import policy_loss
from strop.reference.overlong import soft_overlong
from strop.reference.regularizer import kl
from strop.reference.signal import has_signal

__all__ = ["advantages", "has_signal", "kl", "policy_loss", "soft_overlong", "token_weights"]
