"""The `strop` command: one file for each of its commands. Nothing here imports torch before a command needs it."""
