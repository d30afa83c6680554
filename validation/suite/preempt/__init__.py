"""Who may push out whom inside one queue."""
