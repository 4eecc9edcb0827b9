"""Training on a GPU: rows, duals and matrices are torch tensors, and stay on their device.

``device="cuda"`` of ``pegasos.solve``, ``LinearSVC`` and ``LinearSVCCV`` leads here, and so do
arrays that are on a device already. Nothing here is imported before; it needs the extra ``gpu``.
"""
