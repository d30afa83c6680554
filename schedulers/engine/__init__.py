"""The reference engine: the policy model, run live against a cluster. Its results are never evidence about KAI.

``store``, ``grouping``, ``effects`` and ``lease`` touch the cluster; ``read`` and ``status`` are pure; ``loop`` ties them.
"""
