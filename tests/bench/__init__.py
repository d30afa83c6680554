"""``make bench``: measures what docs/benchmarks.md states. Not part of the tests: a number is no verdict."""
