"""Runs that die right after they have written something."""

from pegasos.run.checkpoint.folder import Part


class Killed(BaseException):
    pass


def killing(monkeypatch):
    """``kill(k)``: the process "dies" right after it has written a state or outcome k times."""
    monkeypatch.setattr("os.fsync", lambda _: None)  # power does not fail here
    left = [-1]
    for name in ("save", "finish"):
        plain = getattr(Part, name)

        def counted(self, *arguments, plain=plain):
            plain(self, *arguments)
            left[0] -= 1
            if left[0] == 0:
                raise Killed

        monkeypatch.setattr(Part, name, counted)

    def set_moment(k):
        left[0] = k

    return set_moment
