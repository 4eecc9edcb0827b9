"""Support vector machines with kernels: the Gram matrix by rows, and solvers over it.

``kernels``    the functions; ``gram`` what is asked of their matrix, ``points`` that of rows
``cache``      its rows that stay in memory; ``pairs`` what pairs of classes share of them
``problem``    one binary problem over a Gram matrix, as a run asks for it
``smo``        the exact solver, ``hand`` the rows it works on; ``pegasos`` the paper's
``maps``       approximations: features whose products are nearly the kernel
``tasks``      from classes to binary problems; ``layout`` models as LIBSVM lays them out
"""
