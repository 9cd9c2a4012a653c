"""What a configuration will ask of the machine: counts, memory, disk and time, before any model loads.

algebra     how many groups, completions, tokens, updates and micro-batches
lengths     how long the prompts are
memory      the parts of the peak; passes runs the model's passes on tensors without numbers, counted by held
program     what the program itself takes, measured
disk        checkpoints and rollouts
machine     what is free
probe       two steps of the run itself, and the time that follows from them
plan        all of it, and whether it fits
"""
