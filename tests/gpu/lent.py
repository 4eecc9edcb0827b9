"""A stand-in for another library of arrays."""


class Lent:
    """An array of some other library: DLPack is what it speaks."""

    __module__ = "lent"

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __getitem__(self, at):
        return Lent(self.array[at])

    @property
    def T(self):
        return Lent(self.array.T)
