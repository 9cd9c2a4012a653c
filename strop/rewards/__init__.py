"""How an answer is scored: rewards found by name, called by their signature, in processes that can be killed."""
