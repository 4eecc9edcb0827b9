"""What the most trusted systems promise, tried out case by case.

`python -m tests.hardening --help` runs it for as long as one likes; test_campaigns.py runs a little
of each in `make test`.
"""
