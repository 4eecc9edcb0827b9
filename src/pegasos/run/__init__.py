"""A run: one driver for every solver, and everything about it that is not arithmetic.

``driver``        runs a solver until every lane is certified, or a limit is reached
``run_state``     what a run is, and how it is saved and restored; ``snapshot`` has it as arrays
``options``       ``RunOptions``: what a run is called with, from the estimators down to the driver
``side_by_side``  many runs at once: the lanes of a problem, pairs of classes
``limits``, ``schedule``   when to end a run, and when to look at it
``history``, ``progress``  records of it, and the line on the screen
``interrupt``     Ctrl-C
``checkpoint``    runs on disk
``outcome``       what a run gives

The rooms of these modules are layers of their own: ``history``, ``schedule`` and ``limits`` know no
driver.
"""
