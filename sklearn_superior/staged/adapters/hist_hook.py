"""A hook into the iterations of HistGradientBoostingClassifier.

It has no callback for its iterations, but it calls its scorer after each of them. A
scorer that it knows by name gets predictions that are updated by each iteration; any
other scorer predicts with all trees again. So a temporary scorer is registered while a
model is fitted. `hist_hook_works` checks all this on a small example first, and
`HistGradientBoostingStages` does without the hook where it fails.

This file uses private names of scikit-learn;
`tests/staged/adapters/test_hist_hook.py` fails when one of them changes.
"""

from contextlib import contextmanager
from copy import copy
from functools import cache
from itertools import count

import numpy as np
from sklearn.metrics._scorer import _SCORERS

from sklearn_superior.utils._warnings import ignored_warnings

__all__ = [
    "cut_hist",
    "hist_hook_works",
    "hook_by_name",
    "make_hook",
    "pack_trees",
    "prepare_hist_to_resume",
    "unpack_trees",
]

_hook_numbers = count()


def make_hook(on_stage, n_done=0):
    """Return a scorer that calls `on_stage` with the probabilities of each iteration.

    It is called on training data, then on validation data, and the first time before
    there is any tree. A score that does not grow stops a patience of 1.
    """
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
    """Give the name under which `scoring` finds the hook, in this context."""
    name = f"_sklearn_superior_hook_{next(_hook_numbers)}"
    _SCORERS[name] = hook
    try:
        yield name
    finally:
        del _SCORERS[name]


def prepare_hist_to_resume(model, hook):
    """Make a model with iterations, and warm_start=True, call the hook."""
    model._scorer = hook
    model.train_score_ = model.validation_score_ = np.array([-1.0])


def cut_hist(model, n_kept):
    """Copy a model, also one that is being fitted, with its first iterations only."""
    model = copy(model)
    for name in ("_raw_predict", "_in_fit"):  # there while it is fitted
        vars(model).pop(name, None)
    model._scorer = None
    model._predictors = model._predictors[:n_kept]
    model.train_score_ = model.validation_score_ = np.array([])
    model.do_early_stopping_ = False
    return model


_TREE_ARRAYS = ("nodes", "binned_left_cat_bitsets", "raw_left_cat_bitsets")


def pack_trees(model):
    """Copy a model with its trees in a few large arrays, which are saved quickly."""
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
def hist_hook_works(hist_class):
    """Try on a few rows whether a model can be hooked, cut, saved and resumed."""
    X = np.linspace(0, 1, 40).reshape(-1, 1)
    y = np.arange(40) // 4 % 2
    common = {"max_iter": 3, "max_leaf_nodes": 4, "min_samples_leaf": 1}
    hooked = {"early_stopping": True, "n_iter_no_change": 1, "tol": 0.0}

    def fit(first=None):
        seen, on_the_way = [], []

        def on_stage(y_proba):
            seen.append(y_proba.copy())
            on_the_way.append(cut_hist(model, model.n_iter_))

        hook = make_hook(on_stage, 0 if first is None else first.n_iter_)
        with hook_by_name(hook) as name:
            model = hist_class(
                scoring=name, warm_start=first is not None, **common, **hooked
            )
            if first is not None:
                params = model.get_params()
                fitted = {k: v for k, v in vars(first).items() if k not in params}
                vars(model).update(fitted)
                prepare_hist_to_resume(model, hook)
            model.fit(X, y, X_val=X, y_val=np.zeros_like(y))
        return model, seen, on_the_way

    with ignored_warnings():  # where a warning is an error, it is no change
        try:
            plain = hist_class(early_stopping=False, **common).fit(X, y)
            expected = np.array(list(plain.staged_predict_proba(X)))
            model, seen, on_the_way = fit()
            cuts = [cut_hist(model, k + 1) for k in range(3)]
            predictions = [
                seen,
                [cut.predict_proba(X) for cut in cuts],
                [cut.predict_proba(X) for cut in on_the_way],
            ]
            resumed, seen, _ = fit(unpack_trees(pack_trees(cuts[1])))
            predictions += [
                [*expected[:2], *seen],
                [*expected[:2], resumed.predict_proba(X)],
            ]
            return bool(np.allclose(predictions, expected, rtol=1e-12))
        except Exception:
            return False
