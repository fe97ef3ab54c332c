"""The state of training on disk, written whole or not at all.

A checkpoint is one archive: of which training it is, the scores so far, the last model
and, where that cannot be cut back to it, the best one, each with the probabilities that
were scored. It is written beside the old one and then takes its place, so that a kill
at any moment leaves one of the two. Damage is found by the checksums of the archive.
"""

import json
import zipfile
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from time import perf_counter

import numpy as np

from sklearn_superior.staged._identity import differences
from sklearn_superior.utils._files import write_atomically
from sklearn_superior.utils._warnings import warn

PART = "validation"  # what a training with a hold-out predicts
_FILE = "checkpoint.zip"
_FORMAT = "sklearn-superior checkpoint 3"
_ANEW = "Remove it to start anew, or use another checkpoint_dir."
_RANDOM_HINT = (
    "If nothing was changed, something draws at random: set random_state to an int, "
    "also that of each step of a pipeline, before the first fit. "
)


@dataclass
class Checkpoint:
    """What is needed to resume: of which training, its scores, the models."""

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
            # JSON has no NaN; a string says the same.
            "scores": [repr(score) for score in self.scores],
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
    """Return what keeps the checkpoint of a training; None if there is none to keep.

    A warning says why, if a training cannot resume.
    """
    if classifier.checkpoint_dir is None:
        return None
    obstacle, identity, unstable = training.stages.obstacle(), {}, {}
    if obstacle is None:
        identity, unstable = training.identify(scorer, val)
    path = checkpoint_path(classifier.checkpoint_dir)
    reasons = [] if obstacle is None else [obstacle]
    reasons += [f"{name}: {reason}" for name, reason in unstable.items()]
    if reasons:
        if unstable and classifier.resume and path.exists():
            raise ValueError(
                f"resume=True is refused: it cannot be checked that {path} belongs "
                f"to this training. {'; '.join(reasons)}."
            )
        warn(
            "This training cannot resume, so that no checkpoint is written to "
            f"{classifier.checkpoint_dir}: {'; '.join(reasons)}."
        )
        return None
    checkpoint = CheckpointKeeper(
        classifier.checkpoint_dir,
        training,
        stopper,
        identity,
        verbose=classifier.verbose,
    )
    if not classifier.resume and path.exists():
        warn(
            f"{path} is replaced, because resume is False. Use resume=True to "
            "resume from it, or another checkpoint_dir to keep it."
        )
    return checkpoint


class CheckpointKeeper:
    """Keeps the checkpoint of a training, as an observer, and resumes from it.

    Parameters
    ----------
    directory : str or path
        Where to keep the checkpoint. Created if it is missing.

    training : Training
        What is trained, by an adapter that is `Checkpointed`.

    stopper : EarlyStopper
        Has the scores.

    identity : dict of str to str
        What training it is.

    verbose : int, default=0
        Whether to print that training resumes.
    """

    def __init__(self, directory, training, stopper, identity, *, verbose=0):
        self.training, self.stages, self.stopper = training, training.stages, stopper
        self.identity, self._verbose = identity, verbose
        self.path = checkpoint_path(directory)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as exc:
            raise ValueError(
                f"The 'checkpoint_dir' parameter must be a folder. Got {directory!r}: "
                f"{exc}"
            ) from exc
        self._n_saved, self._next_save = None, 0.0
        self._has_failed = self._is_useless = False

    def resume(self, result, score):
        """Resume from the checkpoint, if there is one.

        Parameters
        ----------
        result : Result
            Is given what was scored.

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
        different = differences(checkpoint.identity, self.identity)
        if different:
            hint = _RANDOM_HINT if "training data" in different else ""
            raise ValueError(
                f"{self.path} is of another estimator, other parameters, scoring or "
                f"data. What differs: {different}. {hint}{_ANEW}"
            )
        n_done = len(checkpoint.scores)
        if n_done > self.stages.n_stages:
            raise ValueError(
                f"{self.path} has {n_done} stages, more than the "
                f"{self.stages.n_stages} that are wanted. {_ANEW}"
            )
        stop = self._replay(checkpoint)
        try:
            self.training.restore(checkpoint.models, n_done)
        except Exception as exc:  # whatever a library says of what it did not write
            raise ValueError(
                f"{self.path}: The checkpoint's model cannot be read: "
                f"{str(exc).rstrip('.')}. {_ANEW}"
            ) from exc
        if checkpoint.scored:
            self._check_scored(checkpoint.scored, score)
        result.scores = [[value] for value in checkpoint.scores]
        result.best_iteration = self.stopper.best_iteration
        result.present = [_as_part(checkpoint.scored, "last")]
        result.best = [_as_part(checkpoint.scored, "best")]
        if self._verbose:
            print(f"resumed after {n_done} {self.stages.unit}s: {self.path}")
        return stop

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
            raise ValueError(
                f"{self.path} is damaged or no checkpoint: {exc}. {_ANEW}"
            ) from exc

    def _replay(self, checkpoint):
        """Give the stopper the scores; refuse if it had stopped before the end."""
        stops = [self.stopper.update(score) for score in checkpoint.scores]
        if any(stops[:-1]) or self.stopper.best_iteration != checkpoint.best:
            raise ValueError(
                f"{self.path} cannot be resumed with n_iter_no_change="
                f"{self.stopper.n_iter_no_change} and tol={self.stopper.tol}: training "
                f"from the start would not have come to stage {len(stops) - 1} with "
                f"the same best stage. {_ANEW}"
            )
        return stops[-1]

    def _check_scored(self, scored, score):
        """Check that model and scorer give again what the checkpoint says."""
        last, scores = self.stages.snapshot(), self.stopper.scores
        difference = self.training.differs(
            self.training.estimator(last), PART, scored["last"]
        )
        if difference:
            raise ValueError(
                f"{self.path}: its model does not predict the validation data "
                f"as the last {self.stages.unit} did when it was scored, but "
                f"{difference}. Remove it to start anew."
            )
        for name, stage in (("last", -1), ("best", self.stopper.best_iteration)):
            if name not in scored:
                continue
            again = score(scored[name])
            if not np.isclose(again, scores[stage], rtol=1e-6, equal_nan=True):
                raise ValueError(
                    f"{self.path} is refused: by the present 'scoring' and "
                    f"data, the score of its {name} {self.stages.unit} is {again:.6g}, "
                    f"but it was {scores[stage]:.6g}. Remove it to start anew, or use "
                    "another checkpoint_dir."
                )

    def begin_stage(self):
        """Do nothing: a stage is saved when it is done."""

    def stage_done(self, result, is_last):
        """Save, if it is time to: saving takes at most about a tenth of the time."""
        if is_last or perf_counter() >= self._next_save:
            self.save(result)

    def save(self, result):
        """Save the present state, if it is not saved yet.

        If it cannot be written, a warning says so, once.
        """
        stopper, start = self.stopper, perf_counter()
        if self._n_saved == stopper.n_iter or self._is_useless:
            return
        models = self.stages.dump()
        if models is None:
            return
        if self._n_saved is None:  # the first one
            reason = self.stages.why_unreadable(models)
            if reason is not None:
                self._is_useless = True
                warn(
                    "This training cannot resume, so that no checkpoint is written to "
                    f"{self.path.parent}: {reason}."
                )
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


def _as_part(scored, name):
    """Return probabilities as a result has them."""
    return {PART: scored[name]} if name in scored else {}


def checkpoint_path(directory):
    """Return the file of the checkpoint in a folder."""
    return Path(directory) / _FILE
