"""The command line: ``pegasos train``, ``predict``, ``cv``, ``certify``, ``convert`` and more.

stdout carries results only, as ``name<TAB>value`` lines or tables of tabs, or with ``--json`` as
one JSON object; stderr is for people. Commands import what they need when they run, so that help
is quick, and plain training loads no scikit-learn.
"""
