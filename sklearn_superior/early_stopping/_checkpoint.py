"""The state of training on disk: written whole or not at all, read without trust.

A checkpoint is one archive with what training it is of, the scores so far, the last
model and, where that cannot be cut back to it, the best one. It is written beside the
old one and then takes its place, so that a kill at any moment leaves one of the two.
"""

import json
import zipfile
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from time import perf_counter

from sklearn_superior.early_stopping._identity import differences
from sklearn_superior.utils._files import (
    read_archive,
    remove_leftovers,
    write_atomically,
)
from sklearn_superior.utils._warnings import warn

_FILE = "checkpoint.zip"
_FORMAT = "sklearn-superior checkpoint 2"


@dataclass
class Checkpoint:
    """What is needed to resume: of which training, its scores, the models."""

    identity: dict
    scores: list
    best: int | None = None  # the stage of the model "best"
    models: dict = field(default_factory=dict)  # name -> bytes


class CheckpointStore:
    """Where checkpoints are kept.

    Parameters
    ----------
    directory : str or path
        Created if it is missing.
    """

    def __init__(self, directory):
        self.path = Path(directory) / _FILE
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as exc:
            raise ValueError(
                f"The 'checkpoint_dir' parameter must be a folder. Got {directory!r}: "
                f"{exc}"
            ) from exc
        remove_leftovers(self.path)
        self._has_failed = False

    def save(self, checkpoint):
        """Write a checkpoint in place of the last one; return whether it worked.

        If it cannot be written, a warning says so, once.
        """
        meta = {
            "format": _FORMAT,
            "identity": checkpoint.identity,
            # JSON has no NaN; a string says the same.
            "scores": [repr(score) for score in checkpoint.scores],
            "best": checkpoint.best,
            "members": sorted(checkpoint.models),
        }
        buffer = BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            archive.writestr("meta.json", json.dumps(meta))
            for name, data in checkpoint.models.items():
                archive.writestr(name, data)
        try:
            write_atomically(self.path, buffer.getvalue())
        except OSError as exc:
            if not self._has_failed:
                warn(
                    f"The checkpoint {self.path} could not be written: {exc}. Training "
                    "continues without it."
                )
            self._has_failed = True
            return False
        return True

    def load(self):
        """Read the checkpoint; None if there is none."""
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as exc:
            raise ValueError(f"{self.path} cannot be read: {exc}") from exc
        try:
            return _parse(read_archive(data))
        except Exception as exc:  # whatever the damage leads to
            raise ValueError(
                f"{self.path} is damaged or no checkpoint: {exc}. Remove it to start "
                "anew."
            ) from exc


def _parse(members):
    meta = json.loads(members.pop("meta.json"))
    if meta["format"] != _FORMAT:
        raise ValueError(f"its format is {meta['format']!r}, not {_FORMAT!r}")
    if sorted(members) != meta["members"] or "last" not in members:
        raise ValueError("its models are not those that it was written with")
    scores, best, identity = meta["scores"], meta["best"], meta["identity"]
    if not (isinstance(scores, list) and scores):
        raise ValueError("it has no list of scores")
    scores = [float(score) for score in scores]
    if best is not None and best not in range(len(scores)):
        raise ValueError("its scores and its best stage do not fit each other")
    if not (isinstance(identity, dict) and all(map(_is_text, identity.values()))):
        raise ValueError("it does not contain the identity of its training")
    return Checkpoint(identity, scores, best, members)


def _is_text(value):
    return isinstance(value, str)


class CheckpointKeeper:
    """Keeps the checkpoint of a training, and resumes from it.

    Parameters
    ----------
    model : StagedModel
        What is trained, by an adapter that is `Checkpointed`.

    stopper : EarlyStopper
        Has the scores.

    directory : str or path
        Where to keep the checkpoint.

    identify : callable
        Returns the identity of the training, and what of it is not stable.

    is_random : bool, default=False
        Whether the validation rows are drawn without a seed.
    """

    def __init__(self, model, stopper, directory, identify, is_random=False):
        self.is_random = is_random
        self.model, self.stages, self.stopper = model, model.stages, stopper
        self.stages.check_format()
        self.store = CheckpointStore(directory)
        self.identity, self.unstable = identify()
        self._n_saved = None
        self._next_save = 0.0
        if self.unstable:
            warn(f"{self.store.path} cannot be used to resume: {self._reasons()}.")

    def _reasons(self):
        return "; ".join(f"{name}: {why}" for name, why in self.unstable.items())

    def restore(self):
        """Resume from the checkpoint, if there is one; return whether to stop."""
        checkpoint = self.store.load() if self.stages.resumes else None
        if checkpoint is None:
            return False
        path, n_done = self.store.path, len(checkpoint.scores)
        anew = "Remove it to start anew, or use another checkpoint_dir."
        if self.unstable:
            raise ValueError(
                f"resume=True is refused: it cannot be checked that {path} belongs to "
                f"this training. {self._reasons()}. {anew}"
            )
        different = differences(checkpoint.identity, self.identity)
        if different:
            hint = ""
            if "training rows, validation rows" in different and self.is_random:
                hint = (
                    "The validation rows are drawn at random: set random_state to an "
                    "int before the first fit, so that the same rows are drawn again. "
                )
            raise ValueError(
                f"{path} is of another estimator, other parameters, scoring or data. "
                f"What differs: {different}. {hint}{anew}"
            )
        if n_done > self.stages.n_stages:
            raise ValueError(
                f"{path} has {n_done} stages, more than the {self.stages.n_stages} "
                f"that are wanted. {anew}"
            )
        stop = self._replay(checkpoint, anew)
        try:
            self.model.restore(checkpoint.models, n_done)
        except ValueError as exc:
            raise ValueError(f"{path}: {str(exc).rstrip('.')}. {anew}") from exc
        except Exception as exc:  # of a library that reads what it did not write
            raise ValueError(
                f"{path}: The checkpoint's model cannot be read: {exc}. {anew}"
            ) from exc
        return stop

    def _replay(self, checkpoint, anew):
        """Give the stopper the scores; refuse if it had stopped before the end."""
        stops = [self.stopper.update(score) for score in checkpoint.scores]
        best_is_kept = self.stages.keeps_any_stage or (
            self.stopper.best_iteration == checkpoint.best
            and (checkpoint.best is None or "best" in checkpoint.models)
        )
        if any(stops[:-1]) or not best_is_kept:
            raise ValueError(
                f"{self.store.path} cannot be resumed with n_iter_no_change="
                f"{self.stopper.n_iter_no_change} and tol={self.stopper.tol}: training "
                f"from the start would not have come to stage {len(stops) - 1} with "
                f"the same best stage. {anew}"
            )
        return stops[-1]

    def is_due(self):
        """Return whether to save: saving takes at most about a tenth of the time."""
        return perf_counter() >= self._next_save

    def stage_done(self, *, is_last):
        """Save, if it is time to."""
        if is_last or self.is_due():
            self.save()

    def save(self):
        """Save the present state, if it is not saved yet."""
        if self._n_saved == self.stopper.n_iter:
            return
        start = perf_counter()
        models = self.stages.dump()
        if models is not None:
            scores, best = self.stopper.scores, self.stopper.best_iteration
            checkpoint = Checkpoint(self.identity, scores, best, models)
            if self.store.save(checkpoint):
                self._n_saved = self.stopper.n_iter
        self._next_save = perf_counter() + 10 * (perf_counter() - start)
