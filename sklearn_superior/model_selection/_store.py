"""Finished candidates of a search on disk, each written whole or not at all.

The folder has a file that says of which search it is, and one for each candidate:
scores, out-of-fold probabilities and times, no models. Reading runs no code, and damage
is found by the checksums of the archives.
"""

import hashlib
import json
from io import BytesIO
from pathlib import Path

import numpy as np

from sklearn_superior.model_selection._fold_training import Candidate
from sklearn_superior.staged._identity import (
    WITHOUT_EFFECT,
    NoStableIdentityError,
    differences,
    digest_of,
    identify,
    stable_text,
)
from sklearn_superior.utils._files import remove_leftovers, write_atomically
from sklearn_superior.utils._warnings import warn

_FORMAT = "sklearn-superior search 3"
_ANEW = "Use another checkpoint_dir, or remove the folder to start anew."
_ARRAYS = ("stage_scores", "fit_times", "score_times")


def identify_search(estimator, plan):
    """Return the identity of a search, and what of it is not stable.

    Parameters
    ----------
    estimator : estimator
        The estimator, before the parameters of a candidate are set.

    plan : Plan
        Data, folds and scorers.
    """
    data = plan.data
    identity, unstable = identify(
        estimator,
        scorer=list(plan.scorers.items()),  # the first one chooses
        data={
            "training data": data.X,
            "training labels": data.y,
            "training weights": data.sample_weight,
        },
        left_out=WITHOUT_EFFECT,
    )
    identity["training and test rows of the folds"] = digest_of(
        np.concatenate([np.append(part, -1) for fold in plan.folds for part in fold])
    )
    for name, weight in plan.weights.items():
        if weight is not None:
            identity[f"weights of {name}"] = digest_of(weight)
    identity["n_iter_no_change of the search"] = repr(int(plan.n_iter_no_change))
    identity["tol of the search"] = repr(float(plan.tol))
    return identity, unstable


def open_store(directory, estimator, settings, plan, *, resume):
    """Return the store of a search; None with a warning if it cannot be recognised.

    Parameters
    ----------
    directory : str or path
        The folder. Created if it is missing.

    estimator : estimator
        The estimator of the search.

    settings : list of dict
        The parameters of all candidates.

    plan : Plan
        What the candidates have in common.

    resume : bool
        Whether the candidates that are there are to be used.
    """
    identity, unstable = identify_search(estimator, plan)
    reasons = [f"{name}: {reason}" for name, reason in unstable.items()]
    for params in settings:
        try:
            text_of(params)
        except NoStableIdentityError as exc:
            reasons.append(f"param_grid: {exc}")
            break
    store = SearchStore(directory, identity, plan)
    if not reasons:
        store.open(resume=resume)
        return store
    if resume and store.path.exists():
        raise ValueError(
            f"resume=True is refused: it cannot be checked that {store.path} belongs "
            f"to this search. {'; '.join(reasons)}."
        )
    warn(
        "This search cannot resume, so that nothing is written to "
        f"{directory}: {'; '.join(reasons)}."
    )
    return None


def text_of(params):
    """Return the parameters of a candidate as text, the same in every process."""
    return stable_text({name: params[name] for name in sorted(params)})


class SearchStore:
    """The folder of a search.

    Parameters
    ----------
    directory : str or path
        The folder.

    identity : dict of str to str
        Which search it is.

    plan : Plan
        Has the sizes of what is read.
    """

    def __init__(self, directory, identity, plan):
        self.directory, self.identity = Path(directory), identity
        self.path = self.directory / "search.json"
        self._names = list(plan.scorers)
        self._n_folds = len(plan.folds)
        self._n_test = [len(test) for _, test in plan.folds]
        self._n_classes = len(plan.classes)
        self._has_failed = False
        text = json.dumps(identity, sort_keys=True)
        self._digest = hashlib.sha256(text.encode()).hexdigest()

    def open(self, *, resume):
        """Check that the folder is of this search, or make it so."""
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
        except OSError as exc:
            raise ValueError(
                "The 'checkpoint_dir' parameter must be a folder. Got "
                f"{str(self.directory)!r}: {exc}"
            ) from exc
        remove_leftovers(self.path)
        if self.path.exists():
            if resume:
                self._check_identity()
                return
            warn(
                f"{self.path} and its candidates are replaced, because resume is "
                "False. Use resume=True to resume from them, or another "
                "checkpoint_dir to keep them."
            )
            for path in self.directory.glob(f"candidate-{16 * '[0-9a-f]'}.npz"):
                path.unlink(missing_ok=True)
        meta = {"format": _FORMAT, "identity": self.identity}
        self._write(self.path, json.dumps(meta, indent=1).encode())

    def _check_identity(self):
        try:
            meta = json.loads(self.path.read_bytes())
            there = {str(k): str(v) for k, v in meta["identity"].items()}
            if meta["format"] != _FORMAT:
                raise ValueError(f"its format is {meta['format']!r}, not {_FORMAT!r}")
        except Exception as exc:  # whatever the damage leads to
            raise ValueError(
                f"{self.path} is damaged or not of a search: {exc}. {_ANEW}"
            ) from exc
        if different := differences(there, self.identity):
            hint = ""
            if "rows of the folds" in different:
                hint = "If nothing was changed, set the random_state of cv to an int. "
            raise ValueError(
                f"{self.path} is of a search with another estimator, other parameters, "
                f"scoring, folds or data. What differs: {different}. {hint}{_ANEW}"
            )

    def _path_of(self, params):
        digest = hashlib.sha256(text_of(params).encode()).hexdigest()[:16]
        return self.directory / f"candidate-{digest}.npz"

    def read(self, params):
        """Return a finished candidate; None if it is not there."""
        path = self._path_of(params)
        remove_leftovers(path)
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            return None
        try:
            return self._from_bytes(data, params)
        except Exception as exc:  # whatever the damage leads to
            raise ValueError(
                f"{path} is damaged or not a candidate of this search: {exc}. "
                "Remove it to train this candidate again."
            ) from exc

    def _from_bytes(self, data, params):
        with np.load(BytesIO(data), allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        meta = json.loads(arrays.pop("meta").tobytes())
        if meta["params"] != text_of(params):
            raise ValueError("it has other parameters")
        if meta["search"] != self._digest:
            raise ValueError("it is of another search")
        test_scores = arrays.pop("test_scores")
        n_stages = len(arrays["stage_scores"])
        expected = {
            "stage_scores": (n_stages, self._n_folds),
            "test_proba": (sum(self._n_test), self._n_classes),
            "fit_times": (self._n_folds,),
            "score_times": (self._n_folds,),
        }
        shapes = {name: array.shape for name, array in arrays.items()}
        if shapes != expected or not 0 <= meta["best_iteration"] < n_stages:
            raise ValueError(f"its arrays have the shapes {shapes}, not {expected}")
        ends = np.cumsum(self._n_test)[:-1]
        return Candidate(
            best_iteration=meta["best_iteration"],
            test_scores=dict(zip(self._names, test_scores, strict=True)),
            test_proba=np.split(arrays.pop("test_proba"), ends),
            **arrays,
        )

    def write(self, params, candidate):
        """Write a finished candidate; a warning, once, if that is not possible."""
        meta = {
            "search": self._digest,
            "params": text_of(params),
            "best_iteration": candidate.best_iteration,
        }
        buffer = BytesIO()
        np.savez(
            buffer,
            meta=np.frombuffer(json.dumps(meta).encode(), np.uint8),
            test_scores=np.array([candidate.test_scores[k] for k in self._names]),
            test_proba=np.concatenate(candidate.test_proba),
            **{name: getattr(candidate, name) for name in _ARRAYS},
        )
        self._write(self._path_of(params), buffer.getvalue())

    def _write(self, path, data):
        try:
            write_atomically(path, data)
        except OSError as exc:
            if not self._has_failed:
                warn(
                    f"{path} could not be written: {exc}. The search continues without."
                )
            self._has_failed = True
