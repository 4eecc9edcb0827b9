"""The doors to training on a device, whose engine is ``pegasos.sites.device``.

``device="cuda"`` of ``pegasos.solve``, ``LinearSVC`` and ``LinearSVCCV`` leads here, and so do
arrays that are on a device already. Nothing here is imported before; it needs the extra ``gpu``.
"""
