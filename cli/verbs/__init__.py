"""One module per verb or group of verbs. Each parses its options, calls a room and prints."""
