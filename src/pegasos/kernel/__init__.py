"""Support vector machines with kernels: the Gram matrix by rows, and solvers over it.

``kernels``    the functions; ``points`` rows they are applied to; ``layout`` how rows are stored
``gram``       the matrix, ``cache`` its rows; ``pairs`` what pairs of classes share of it
``problem``    one binary problem over a Gram matrix, as a run asks for it
``smo``        the exact solver, ``hand`` the rows it works on; ``pegasos`` the paper's
``maps``       approximations: features whose products are nearly the kernel
``tasks``      from classes to binary problems
"""
