"""Estimators of scikit-learn as bytes, read without running code from them."""

from sklearn_superior.utils._optional import import_optional
from sklearn_superior.utils._sklearn_compat import MODEL_TYPES


class SkopsFormat:
    """Adds bytes in the format of skops to an adapter that is `Checkpointed`."""

    def obstacle(self):
        """Return whether what is trained could not be read again."""
        types = _skops().get_untrusted_types(data=self.to_bytes(self.estimator))
        refused = sorted(set(types) - MODEL_TYPES)
        if refused:
            return f"skops, which reads checkpoints, does not trust {refused}"
        return super().obstacle()

    def to_bytes(self, estimator):
        """Bytes of an estimator."""
        return _skops().dumps(estimator)

    def from_bytes(self, data):
        """Estimator from bytes; types that are not known to be safe are refused."""
        return _skops().loads(data, trusted=sorted(MODEL_TYPES))


def _skops():
    return import_optional("skops.io", caller="checkpoint_dir", extra="checkpoint")
