"""From classes and labels to lanes, and back: what the estimators and the command line share."""
