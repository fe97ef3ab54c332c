"""A hook into the iterations of HistGradientBoostingClassifier.

It has no callback, but it calls its scorer after each iteration. A scorer given by name
sees predictions that are updated with each new tree; any other scorer would predict
with all trees again, which makes the cost quadratic. So we register a temporary scorer
while the model is fitted.

This file uses private names of scikit-learn. `tests/staged/adapters/test_hist_hook.py`
fails when one of them changes; `hook_works` then notices it, too, and
`PublicHistGradientBoostingStages` does without the hook.
"""

from contextlib import contextmanager
from copy import copy
from functools import cache
from itertools import count

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics._scorer import _SCORERS

from sklearn_superior.utils._warnings import ignored_warnings

__all__ = [
    "cut_hist",
    "hook_by_name",
    "hook_works",
    "make_hook",
    "pack_trees",
    "prepare_hist_to_resume",
    "unpack_trees",
]

_hook_numbers = count()


def make_hook(on_stage, n_done=0):
    """Return a scorer that calls `on_stage` with the probabilities of each iteration.

    It needs ``n_iter_no_change=1`` and ``tol=0``: a score that grows continues, one
    that does not stops the training.
    """
    # It is called for the training data, then for the validation data, and the first
    # pair of calls comes before there is any tree. A resumed fit skips that pair.
    calls = count(2 if n_done else 0)

    def hook(estimator, X, y, sample_weight=None):
        call = next(calls)
        if call % 2 == 0:
            return 0.0
        if call == 1:
            return -1.0
        stop = on_stage(estimator.predict_proba(X))
        return -np.inf if stop else float(call)

    return hook


@contextmanager
def hook_by_name(hook):
    """Yield a name under which `scoring` finds the hook."""
    # Trainings in lockstep overlap, so each needs a name of its own.
    name = f"_sklearn_superior_hook_{next(_hook_numbers)}"
    _SCORERS[name] = hook
    try:
        yield name
    finally:
        del _SCORERS[name]


def prepare_hist_to_resume(model, hook):
    """Make a model that has iterations, and warm_start=True, call the hook."""
    model._scorer = hook
    # The scores before the first new iteration: anything below what the hook returns.
    model.train_score_ = model.validation_score_ = np.array([-1.0])


def cut_hist(model, n_kept):
    """Copy a model, which may still be training, with its first iterations only."""
    model = copy(model)
    # While a model is fitted, it predicts the known data through these.
    for name in ("_raw_predict", "_in_fit"):
        vars(model).pop(name, None)
    model._scorer = None
    model._predictors = model._predictors[:n_kept]
    model.train_score_ = model.validation_score_ = np.array([])
    model.do_early_stopping_ = False
    return model


_TREE_ARRAYS = ("nodes", "binned_left_cat_bitsets", "raw_left_cat_bitsets")


def pack_trees(model):
    """Copy a model with its trees in a few large arrays.

    skops writes one object at a time, which is slow for thousands of trees.
    """
    trees = [tree for trees in model._predictors for tree in trees]
    packed = {"n_trees": len(trees) // len(model._predictors)}
    for name in _TREE_ARRAYS:
        parts = [getattr(tree, name) for tree in trees]
        packed[name] = np.concatenate(parts)
        packed[f"ends of {name}"] = np.cumsum([len(part) for part in parts])
    model = copy(model)
    model._predictors = packed
    return model


def unpack_trees(model):
    """Undo `pack_trees`, in place."""
    from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor

    packed = model._predictors
    parts = [
        np.split(packed[name], packed[f"ends of {name}"][:-1]) for name in _TREE_ARRAYS
    ]
    trees = [TreePredictor(*arrays) for arrays in zip(*parts, strict=True)]
    step = packed["n_trees"]
    model._predictors = [trees[k : k + step] for k in range(0, len(trees), step)]
    return model


@cache
def hook_works():
    """Whether the hook sees every iteration, and models can be cut and packed."""
    X, y = np.linspace(0, 1, 40).reshape(-1, 1), np.arange(40) // 4 % 2
    common, seen = {"max_iter": 3, "min_samples_leaf": 1}, []
    hooked = common | {"early_stopping": True, "n_iter_no_change": 1, "tol": 0.0}
    plain = HistGradientBoostingClassifier(early_stopping=False, **common).fit(X, y)
    expected = list(plain.staged_predict_proba(X))
    with ignored_warnings():  # a warning that is turned into an error is no change
        try:
            hook = make_hook(lambda y_proba: seen.append(y_proba.copy()))
            with hook_by_name(hook) as name:
                model = HistGradientBoostingClassifier(scoring=name, **hooked)
                model.fit(X, y, X_val=X, y_val=y)
            cut = unpack_trees(pack_trees(cut_hist(model, 2))).predict_proba(X)
            return bool(np.allclose([*seen, cut], [*expected, expected[1]]))
        except Exception:
            return False
