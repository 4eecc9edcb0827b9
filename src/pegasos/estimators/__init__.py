"""Estimators with the interface of scikit-learn, which is imported here and nowhere below."""
