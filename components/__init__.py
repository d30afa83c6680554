"""Pulumi components: one per add-on on one ManagedAddon base, the program that declares them, the engine that runs it."""
