"""Estimators of scikit-learn as bytes, read without running code from them."""

from sklearn_superior.utils._optional import import_optional
from sklearn_superior.utils._sklearn_compat import MODEL_TYPES


class SkopsFormat:
    """Adds bytes in the format of skops to an adapter that is `Checkpointed`."""

    def obstacle(self):
        """Return whether what is trained could not be read again."""
        unreadable = self.why_unreadable({"": self.to_bytes(self.estimator)})
        return super().obstacle() if unreadable is None else unreadable

    def why_unreadable(self, models):
        """Return which types of the models would be refused."""
        skops, types = _skops(), set()
        for data in models.values():
            types |= {*skops.get_untrusted_types(data=data)} - MODEL_TYPES
        if not types:
            return None
        return f"skops, which reads checkpoints, does not trust {sorted(types)}"

    def to_bytes(self, estimator):
        """Bytes of an estimator."""
        return _skops().dumps(estimator)

    def from_bytes(self, data):
        """Estimator from bytes; types that are not known to be safe are refused."""
        return _skops().loads(data, trusted=sorted(MODEL_TYPES))


def _skops():
    return import_optional("skops.io", caller="checkpoint_dir", extra="checkpoint")
