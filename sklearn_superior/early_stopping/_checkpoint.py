"""The state of a training on disk, written completely or not at all.

A checkpoint is one archive: the identity of the training, the scores so far, the last
model and, unless that can be cut back to it, the best one, each with the probabilities
that were scored. It is written to a temporary file that then replaces the old
checkpoint, so a kill at any moment leaves one of the two. The checksums of the archive
reveal damage.
"""

import json
import zipfile
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from time import perf_counter

import numpy as np

from sklearn_superior.staged._identity import differences
from sklearn_superior.staged._observers import Observer
from sklearn_superior.utils._files import write_atomically
from sklearn_superior.utils._warnings import warn

PART = "validation"  # what a training with a hold-out predicts
_SCORED = ("last", "best")  # the stages whose probabilities are stored
_FORMAT = "sklearn-superior checkpoint 3"
_RANDOM_HINT = (
    " If nothing was changed, something uses random sampling: set random_state to an "
    "int, also for each step of a pipeline, before the first fit."
)


@dataclass
class Checkpoint:
    """What is needed to resume: which training, its scores, the models."""

    identity: dict
    scores: list
    best: int | None  # the stage of the model "best"
    models: dict  # name -> bytes
    scored: dict  # "last" and "best" -> the probabilities that were scored

    def to_bytes(self):
        """Return the archive."""
        meta = {
            "format": _FORMAT,
            "identity": self.identity,
            "scores": [repr(score) for score in self.scores],  # JSON has no NaN
            "best": self.best,
            "members": sorted([*self.models, *self.scored]),
        }
        buffer = BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            archive.writestr("meta.json", json.dumps(meta))
            for name, data in self.models.items():
                archive.writestr(f"models/{name}", data)
            for name, y_proba in self.scored.items():
                with archive.open(f"scored/{name}", "w") as file:
                    np.save(file, y_proba, allow_pickle=False)
        return buffer.getvalue()

    @classmethod
    def from_bytes(cls, data):
        """Read an archive, or raise an error of any kind."""
        with zipfile.ZipFile(BytesIO(data)) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        meta = json.loads(members.pop("meta.json"))
        if meta["format"] != _FORMAT:
            raise ValueError(f"its format is {meta['format']!r}, not {_FORMAT!r}")
        models = {k[7:]: v for k, v in members.items() if k.startswith("models/")}
        scored = {
            k[7:]: np.load(BytesIO(v), allow_pickle=False)
            for k, v in members.items()
            if k.startswith("scored/")
        }
        scores = [float(score) for score in meta["scores"]]
        is_whole = sorted([*models, *scored]) == meta["members"] and "last" in models
        if not (is_whole and scores and isinstance(meta["identity"], dict)):
            raise ValueError("a part of it is missing")
        return cls(meta["identity"], scores, meta["best"], models, scored)


def open_checkpoint(classifier, training, stopper, scorer, val):
    """Return the observer that writes checkpoints; None if there is none to write.

    Warns if the training cannot resume.
    """
    directory = classifier.checkpoint_dir
    if directory is None:
        return None
    path = Path(directory) / "checkpoint.zip"
    obstacle, identity, unstable = training.stages.obstacle(), {}, {}
    if obstacle is None:
        identity, unstable = training.identify(scorer, val)
        obstacle = "; ".join(f"{name}: {why}" for name, why in unstable.items())
    if obstacle:
        if unstable and classifier.resume and path.exists():
            raise ValueError(
                f"resume=True is refused: cannot check whether {path} belongs to this "
                f"training. {obstacle}."
            )
        _warn_without(directory, obstacle)
        return None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as exc:
        raise ValueError(
            f"The 'checkpoint_dir' parameter must be a folder. Got {directory!r}: {exc}"
        ) from exc
    if not classifier.resume and path.exists():
        warn(
            f"{path} is replaced, because resume is False. Use resume=True to resume "
            "from it, or another checkpoint_dir to keep it."
        )
    return CheckpointKeeper(path, training, stopper, identity)


def _warn_without(directory, reason):
    warn(
        "This training cannot resume, so no checkpoint is written to "
        f"{directory}: {reason}."
    )


class CheckpointKeeper(Observer):
    """Writes the checkpoints of a training, and resumes from one.

    Parameters
    ----------
    path : Path
        The file.

    training : Training
        What is trained, by an adapter that is `Checkpointed`.

    stopper : EarlyStopper
        Has the scores.

    identity : dict of str to str
        Which training it is.
    """

    def __init__(self, path, training, stopper, identity):
        self.training, self.stages, self.stopper = training, training.stages, stopper
        self.path, self.identity = path, identity
        self._n_saved, self._next_save = None, 0.0
        self._has_failed = self._is_useless = False

    def resume(self, result, score):
        """Resume from the checkpoint, if there is one.

        Parameters
        ----------
        result : Result
            Receives what was scored.

        score : callable
            Scores the probabilities of the validation data.

        Returns
        -------
        stop : bool
            Whether training is over.
        """
        checkpoint = self._read()
        if checkpoint is None:
            return False
        if different := differences(checkpoint.identity, self.identity):
            hint = _RANDOM_HINT if "training data" in different else ""
            raise self._refusal(
                " is of another estimator, other parameters, scoring or data. What "
                f"differs: {different}.{hint}"
            )
        n_done, budget = len(checkpoint.scores), self.stages.n_stages
        if n_done > budget:
            raise self._refusal(f" has {n_done} stages, more than the budget {budget}.")
        stopper, scored = self.stopper, checkpoint.scored
        stops = [stopper.update(value) for value in checkpoint.scores]
        # Only one best model is stored, so the stopper must still prefer that stage.
        if any(stops[:-1]) or stopper.best_iteration != checkpoint.best:
            raise self._refusal(
                f" cannot be resumed with n_iter_no_change={stopper.n_iter_no_change} "
                f"and tol={stopper.tol}: training from the start would not reach stage "
                f"{n_done - 1} with the same best stage."
            )
        try:
            self.training.restore(checkpoint.models, n_done)
        except Exception as exc:  # whatever a library says about a damaged model
            why = f"The checkpoint's model cannot be read: {str(exc).rstrip('.')}."
            raise self._refusal(f": {why}") from exc
        if scored:
            self._check_scored(scored, score)
        result.scores = [[value] for value in checkpoint.scores]
        result.best_iteration = stopper.best_iteration
        last, best = ({PART: scored[k]} if k in scored else {} for k in _SCORED)
        result.present, result.best = [last], [best]
        return stops[-1]

    def _refusal(self, reason):
        return ValueError(
            f"{self.path}{reason} Remove it to start anew, or use another "
            "checkpoint_dir."
        )

    def _read(self):
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as exc:
            raise ValueError(f"{self.path} cannot be read: {exc}") from exc
        try:
            return Checkpoint.from_bytes(data)
        except Exception as exc:  # whatever the damage leads to
            raise self._refusal(f" is damaged or no checkpoint: {exc}.") from exc

    def _check_scored(self, scored, score):
        """Check that the model and the scorer reproduce what the checkpoint says."""
        unit, scores = self.stages.unit, self.stopper.scores
        last = self.training.estimator(self.stages.snapshot())
        if difference := self.training.differs(last, PART, scored["last"]):
            raise self._refusal(
                f": its model does not predict the validation data as the last {unit} "
                f"did when it was scored, but {difference}."
            )
        for name, stage in (("last", -1), ("best", self.stopper.best_iteration)):
            again = score(scored[name]) if name in scored else scores[stage]
            if not np.isclose(again, scores[stage], rtol=1e-6, equal_nan=True):
                raise self._refusal(
                    f" is refused: with the present 'scoring' and data, the score of "
                    f"its {name} {unit} is {again:.6g}, but it was {scores[stage]:.6g}."
                )

    def stage_done(self, result, is_last):
        """Save if it is time: saving takes at most about a tenth of the time."""
        if is_last or perf_counter() >= self._next_save:
            self.save(result)

    def save(self, result):
        """Save the present state, unless it is saved already.

        Warns once if it cannot be written.
        """
        stopper, start = self.stopper, perf_counter()
        if self._n_saved == stopper.n_iter or self._is_useless:
            return
        models = self.stages.dump()
        if models is None:
            return
        # Some types only appear in a fitted model.
        if self._n_saved is None and (reason := self.stages.why_unreadable(models)):
            self._is_useless = True
            _warn_without(self.path.parent, reason)
            return
        scored = {"last": result.present, "best": result.best}
        scored = {k: v[0][PART] for k, v in scored.items() if v and PART in v[0]}
        checkpoint = Checkpoint(
            self.identity, stopper.scores, stopper.best_iteration, models, scored
        )
        try:
            write_atomically(self.path, checkpoint.to_bytes())
            self._n_saved = stopper.n_iter
        except OSError as exc:
            if not self._has_failed:
                warn(
                    f"The checkpoint {self.path} could not be written: {exc}. Training "
                    "continues without it."
                )
            self._has_failed = True
        self._next_save = perf_counter() + 10 * (perf_counter() - start)
