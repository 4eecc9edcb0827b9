"""A trained model without its rows: ``linear`` predicts, ``file`` is how it is saved and read."""
