"""Tenancy as scheduler objects, the executable policy model, and the reference engine that runs it live.

Sources of every rule: the documented behaviour of the KAI scheduler v0.17.0. Modules of ``policy`` name the
section of KAI's documentation or the path in its repository that a rule was read from.
"""
