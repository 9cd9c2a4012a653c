"""Pure tensor maths of the DAPO family: five independent choices, and the loss they make together.

advantage    rewards of a group -> credit per completion
ratio        how far the policy moved
trust        what a move may earn
aggregation  which mean: one weight per token
regularizer  what else the loss asks for

loss = sum_n  weight_n * ( trust(ratio_n, advantage_n) + sum of regularizers_n )
"""
