"""A trained model without its rows: ``linear`` is what predicts, ``file`` how it is saved and read."""
