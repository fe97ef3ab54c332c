"""Models that were trained on the numbers of the classes and predict the classes."""

from copy import copy
from functools import cache, wraps

import numpy as np
from sklearn.base import clone


def with_labels(model, labels):
    """Return a copy of a model of the classes 0, 1, … that predicts `labels`.

    It is of the model's class in all other respects, so that what a library can do with
    its own models it can do with this one. A model whose labels are these numbers is
    returned as it is.
    """
    if labels.dtype.kind in "iu" and np.array_equal(labels, np.arange(len(labels))):
        return model
    model = copy(model)
    model.__class__ = _labelled(type(model))
    model._labels = labels
    return model


class _Labelled:
    """What is put before the class of a model. A clone has that class alone."""

    _plain_class: type

    @property
    def classes_(self):
        own = vars(self)
        if "_labels" in own:
            return own["_labels"]
        return own["classes_"] if "classes_" in own else super().classes_

    @classes_.setter
    def classes_(self, classes):
        vars(self)["classes_"] = classes

    def predict(self, X, **options):
        if "_labels" not in vars(self) or options.get("output_margin"):
            return super().predict(X, **options)
        return self._labels[np.argmax(self.predict_proba(X, **options), axis=1)]

    def __reduce__(self):
        return _new, (self._plain_class,), self.__getstate__()

    def __sklearn_clone__(self):
        plain = copy(self)
        plain.__class__ = self._plain_class
        return clone(plain)


@cache
def _labelled(plain_class):
    """Return the class of the models of a class that have labels."""

    @wraps(plain_class.fit)  # metadata routing looks at its signature
    def fit(self, *args, **options):
        vars(self).pop("_labels", None)  # those of the training before
        return plain_class.fit(self, *args, **options)

    own = {"_plain_class": plain_class, "fit": fit, "__module__": __name__}
    own["__doc__"] = plain_class.__doc__
    return type(plain_class.__name__, (_Labelled, plain_class), own)


def _new(plain_class):
    """Return a model before its state is set, for pickles."""
    return object.__new__(_labelled(plain_class))


def __getattr__(name):
    """Return the class of that name, for skops, which looks for it here."""
    if name == "XGBClassifier":
        from xgboost import XGBClassifier

        return _labelled(XGBClassifier)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
