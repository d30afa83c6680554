"""Who may run, and how a queue says that it may not."""
