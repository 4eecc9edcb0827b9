"""Support vector machines with kernels: the Gram matrix by rows, and solvers over it."""
