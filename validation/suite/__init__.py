"""The suite: one package a room, one module a subject, one test function a check.

To add a check, write a function ``test_...`` in the room that it belongs to (or a new room: a package whose docstring is one
line that the report shows), decorate it with :func:`validation.checks.check`, and ask for the fixture ``lab`` (or only
``cluster``, ``context``, ``addon``). The docstring tells how it looks; it stands in the report. Three rules:

- What must happen is awaited with ``lab.until``; what must not happen is watched with ``lab.hold`` or ``lab.stay_unbound``,
  which also ask the scheduler for a sign of life, so that a dead one passes nothing.
- Whatever is made goes through the lab (``lab.pod``, ``lab.queue``, ``lab.create`` ...), so that it carries the labels by
  which it is found and removed however the check ends. What is changed of somebody else's is noted on the object itself.
- An unmet precondition is ``pytest.skip(reason)``; a check that finds nothing to look at fails.
"""
