"""Checks that behave in every way a check can, for tests of the runner. Not collected by themselves."""
