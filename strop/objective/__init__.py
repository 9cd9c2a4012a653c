"""Pure tensor maths of the DAPO family: five independent choices, and the loss they make together.

advantage    rewards of a group -> credit per completion
ratio        how far the policy moved
trust        what a move may earn
aggregation  which mean: one weight per token
regularizer  what else the loss asks for
correction   beside them, for a sampler whose log-probs are not the trainer's; none by default

loss = sum_n  weight_n * ( correction_n * trust(ratio_n, advantage_n) + sum of regularizers_n )
"""
