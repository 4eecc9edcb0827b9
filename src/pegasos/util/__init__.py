"""What any room may use, and what knows nothing of Pegasos.

``arguments``   arguments of the wrong type get an error that names them
``classes``     the classes of rows, and the place of each row's among them
``files``       paths, and errors that name one; ``atomic`` writes files whole or not at all
``checksums``   of arrays
``memory``, ``threads``   how much of the machine there is
``sparse``      SciPy's matrices, loaded when one is met
``devices``     which arrays are on a GPU, told without importing torch
``versions``    of everything that a bug report should name
"""
