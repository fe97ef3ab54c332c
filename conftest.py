"""Settings of the whole test run."""

import os

# scikit-learn's array API dispatch needs it, before SciPy is imported.
os.environ.setdefault("SCIPY_ARRAY_API", "1")
os.environ.setdefault("KERAS_BACKEND", "torch")
os.environ.setdefault("MPLBACKEND", "Agg")

from hypothesis import settings

settings.register_profile("default", deadline=None, derandomize=True)
settings.load_profile("default")

# They need what builds the documentation.
collect_ignore_glob = ["doc/*.py"]
