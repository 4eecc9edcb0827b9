"""Tools for tests: plain transcriptions of the algorithms, reference optima, toy problems."""
