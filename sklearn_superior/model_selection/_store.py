"""Finished candidates of a search on disk, each written completely or not at all.

The folder holds one file that identifies the search, and one file per candidate with
scores, out-of-fold probabilities and times, but no models. Reading runs no code, and
the checksums of the archives reveal damage.
"""

import hashlib
import json
from io import BytesIO
from pathlib import Path

import numpy as np

from sklearn_superior.model_selection._folds import Candidate
from sklearn_superior.staged._identity import (
    WITHOUT_EFFECT,
    NoStableIdentityError,
    differences,
    digest_of,
    identify,
    stable_text,
)
from sklearn_superior.utils._files import write_atomically
from sklearn_superior.utils._warnings import warn

_FORMAT = "sklearn-superior search 4"
_ANEW = "Use another checkpoint_dir, or remove the folder to start over."
_ARRAYS = ("stage_scores", "best_iteration", "fit_times", "score_times")


def open_store(search, settings, plan):
    """Return the store of a search; None without a `checkpoint_dir`.

    Also None, with a warning, if the search cannot be recognized in another process.

    Parameters
    ----------
    search : StagedSearchCV
        Its parameters are used.

    settings : list of dict
        The parameters of all candidates.

    plan : Plan
        What the candidates have in common.
    """
    if search.checkpoint_dir is None:
        return None
    identity, unstable = _identify(search.estimator, plan)
    try:
        for params in settings:
            _text_of(params)
    except NoStableIdentityError as exc:
        unstable["param_grid"] = str(exc)
    store = SearchStore(search.checkpoint_dir, identity, plan)
    if not unstable:
        store.open(resume=search.resume)
        return store
    reasons = "; ".join(f"{name}: {reason}" for name, reason in unstable.items())
    if search.resume and store.path.exists():
        raise ValueError(
            f"resume=True is refused: cannot check that {store.path} belongs to this "
            f"search. {reasons}."
        )
    warn(
        "This search cannot resume, so nothing is written to "
        f"{search.checkpoint_dir}: {reasons}."
    )
    return None


def _identify(estimator, plan):
    """Return the identity of a search, and which parts of it are not stable."""
    data = plan.data
    identity, unstable = identify(
        estimator,
        scorer=list(plan.scorers.items()),  # in order: the first one chooses
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
    for name in plan.scorers:
        weight = plan.weight_for(name)
        if weight is not None:
            identity[f"weights of {name}"] = digest_of(weight)
    identity["n_iter_no_change of the search"] = repr(int(plan.n_iter_no_change))
    identity["tol of the search"] = repr(float(plan.tol))
    return identity, unstable


def _text_of(params):
    """Return the parameters of a candidate as text, the same in every process."""
    return stable_text({name: params[name] for name in sorted(params)})


class SearchStore:
    """The folder of a search.

    Parameters
    ----------
    directory : str or path
        The folder.

    identity : dict of str to str
        Identifies the search.

    plan : Plan
        Folds and scorers.
    """

    def __init__(self, directory, identity, plan):
        self.directory, self.identity = Path(directory), identity
        self.path = self.directory / "search.json"
        self._plan, self._has_failed = plan, False

    def open(self, *, resume):
        """Check that the folder belongs to this search, or prepare it."""
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
        except OSError as exc:
            raise ValueError(
                "The 'checkpoint_dir' parameter must be a folder. Got "
                f"{str(self.directory)!r}: {exc}"
            ) from exc
        if self.path.exists():
            if resume:
                self._check_identity()
                return
            warn(
                f"{self.path} and its candidates are replaced, because resume is "
                "False. Use resume=True to resume, or another checkpoint_dir to keep "
                "them."
            )
            for path in self.directory.glob(f"candidate-{32 * '[0-9a-f]'}.npz"):
                path.unlink(missing_ok=True)
        meta = {"format": _FORMAT, "identity": self.identity}
        self._write(self.path, json.dumps(meta, indent=1).encode())

    def _check_identity(self):
        try:
            meta = json.loads(self.path.read_bytes())
            there = {str(k): str(v) for k, v in meta["identity"].items()}
            if meta["format"] != _FORMAT:
                raise ValueError(f"its format is {meta['format']!r}, not {_FORMAT!r}")
        except Exception as exc:  # whatever the damage causes
            raise ValueError(
                f"{self.path} is damaged or does not belong to a search: {exc}. {_ANEW}"
            ) from exc
        if different := differences(there, self.identity):
            hint = ""
            if "rows of the folds" in different:
                hint = "If nothing has changed, set the random_state of cv to an int. "
            raise ValueError(
                f"{self.path} belongs to a different search. What differs: "
                f"{different}. {hint}{_ANEW}"
            )

    def _path_of(self, params):
        # The name covers the whole search, so no other candidate can have it.
        text = json.dumps([self.identity, _text_of(params)], sort_keys=True)
        digest = hashlib.sha256(text.encode()).hexdigest()[:32]
        return self.directory / f"candidate-{digest}.npz"

    def read(self, params):
        """Return a finished candidate; None if there is none."""
        path, plan = self._path_of(params), self._plan
        if not path.exists():
            return None
        try:
            with np.load(BytesIO(path.read_bytes()), allow_pickle=False) as archive:
                arrays = {name: archive[name] for name in archive.files}
            ends = np.cumsum([len(test) for _, test in plan.folds])
            test_scores = zip(plan.scorers, arrays.pop("test_scores"), strict=True)
            return Candidate(
                best_iteration=int(arrays.pop("best_iteration")),
                test_scores=dict(test_scores),
                test_proba=np.split(arrays.pop("test_proba"), ends[:-1]),
                **arrays,
            )
        except Exception as exc:  # whatever the damage causes
            raise ValueError(
                f"{path} is damaged or not a candidate of this search: {exc}. Remove "
                "it to train this candidate again."
            ) from exc

    def write(self, params, candidate):
        """Write a finished candidate; warn once if that is not possible."""
        buffer = BytesIO()
        np.savez(
            buffer,
            test_scores=np.array(list(candidate.test_scores.values())),
            test_proba=np.concatenate(candidate.test_proba),
            **{name: getattr(candidate, name) for name in _ARRAYS},
        )
        self._write(self._path_of(params), buffer.getvalue())

    def _write(self, path, data):
        try:
            write_atomically(path, data)
        except OSError as exc:
            if not self._has_failed:
                warn(f"{path} could not be written: {exc}. The search continues.")
            self._has_failed = True
