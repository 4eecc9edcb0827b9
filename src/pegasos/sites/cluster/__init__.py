"""Rows on the workers of a Dask cluster.

``cluster``        who holds which part, asking all of them, and losing some
``watching``, ``health``   waiting for answers with an eye on the workers
``source``, ``loading``    from what users have to chunks of rows
``part``           what a worker holds; ``part_duals``, ``part_passes``, ``part_sums``: work on it
``site``           ``ClusterSite``: the place as solvers see it
``remote_passes``  a pass is one question to all parts
``gap_sums``       a certificate's sums, and the best free intercept
``rounds``         the policy of steps row by row; ``hard_rows``: those that the client moves itself

Workers import ``part`` alone.
"""
