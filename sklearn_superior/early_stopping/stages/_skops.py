"""Estimators of scikit-learn as bytes, read without running code from them."""

from sklearn_superior.utils._files import read_archive
from sklearn_superior.utils._optional import import_optional
from sklearn_superior.utils._sklearn_compat import MODEL_TYPES


class SkopsFormat:
    """Adds bytes in the format of skops to an adapter."""

    def check_format(self):
        """Raise an error if skops is missing."""
        _skops()

    def to_bytes(self, estimator):
        """Bytes of an estimator."""
        return _skops().dumps(estimator)

    def from_bytes(self, data, expected_type):
        """Estimator from bytes; refuses types that are not known to be safe."""
        skops = _skops()
        try:
            read_archive(data)  # checks it
            types = set(skops.get_untrusted_types(data=data))
            refused = types - MODEL_TYPES
            model = None if refused else skops.loads(data, trusted=sorted(types))
        except Exception as exc:
            raise ValueError(f"The checkpoint's model cannot be read: {exc}") from exc
        if refused:
            raise ValueError(
                f"The checkpoint is refused: it holds types {sorted(refused)}, which "
                "are not part of a model."
            )
        if not isinstance(model, expected_type):
            raise ValueError(
                f"The checkpoint's model is a {type(model).__name__}, not a "
                f"{expected_type.__name__}."
            )
        return model


def _skops():
    return import_optional("skops.io", caller="checkpoint_dir", extra="checkpoint")
