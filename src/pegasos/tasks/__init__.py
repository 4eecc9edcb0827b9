"""From classes and labels to lanes, and back: what the estimators and the command line share.

``lanes``      one against the rest, pairs and folds, as a table of classes and lanes; weights
``training``   a task, and ``train``: the same for rows in memory and elsewhere
``cross_validation``   a path over C; ``apart`` a run for each fold, ``together`` one for many
``multilabel``, ``probability``, ``online``   indicator matrices, calibration, rows that come once
``offered``    which tasks a site does, and the words that refuse the others
``options``    options, checked
``decision``   scores to classes
"""
