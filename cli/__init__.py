"""The ``chandlery`` command: parses, calls, prints. Decisions stand in the rooms that it calls."""
