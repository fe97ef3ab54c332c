"""The state of training on disk: written whole or not at all, read without trust.

A checkpoint is one archive with the scores so far, the last model and, where that
cannot be cut back to it, the best one. It is written beside the old one and then
takes its place, so that a kill at any moment leaves one of the two.
"""

import hashlib
import json
import zipfile
from dataclasses import dataclass, field
from functools import partial
from io import BytesIO
from pathlib import Path
from time import perf_counter

import numpy as np

from sklearn_superior.utils._files import write_atomically
from sklearn_superior.utils._optional import import_optional

_FILE = "checkpoint.zip"
_FORMAT = "sklearn-superior checkpoint 1"

# Types that models hold besides those that skops trusts itself. They carry numbers
# only; loading one runs no code of the file's choice.
_TRUSTED = {
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
    "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
    "sklearn.tree._tree.Tree",
}


@dataclass
class Checkpoint:
    """What is needed to go on: the scores of the stages, and the models."""

    fingerprint: str  # of the estimator and the data that it was trained on
    scores: list
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
        self._next_save = 0.0

    def is_due(self):
        """Tell whether to save: so seldom that it takes a tenth of the time at most."""
        return perf_counter() >= self._next_save

    def save(self, checkpoint):
        """Write a checkpoint in place of the last one."""
        start = perf_counter()
        buffer = BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            meta = {
                "format": _FORMAT,
                "fingerprint": checkpoint.fingerprint,
                # JSON has no NaN; a string says the same.
                "scores": [repr(score) for score in checkpoint.scores],
            }
            archive.writestr("meta.json", json.dumps(meta))
            for name, data in checkpoint.models.items():
                archive.writestr(name, data)
        write_atomically(self.path, buffer.getvalue())
        self._next_save = perf_counter() + 10 * (perf_counter() - start)

    def load(self):
        """Read the checkpoint; None if there is none."""
        if not self.path.exists():
            return None
        try:
            with zipfile.ZipFile(self.path) as archive:
                meta = json.loads(archive.read("meta.json"))
                names = [name for name in archive.namelist() if name != "meta.json"]
                models = {name: archive.read(name) for name in names}
            if meta["format"] != _FORMAT:
                raise ValueError(f"its format is {meta['format']!r}, not {_FORMAT!r}")
            scores = [float(score) for score in meta["scores"]]
            return Checkpoint(meta["fingerprint"], scores, models)
        except (zipfile.BadZipFile, KeyError, ValueError, TypeError, EOFError) as exc:
            raise ValueError(
                f"{self.path} is damaged or no checkpoint: {exc}. Remove it to start "
                "anew."
            ) from exc


class CheckpointKeeper:
    """Keeps the checkpoint of a fit, and takes it up again."""

    def __init__(self, classifier, stages, stopper, data):
        self.stages, self.stopper = stages, stopper
        self.resume = classifier.resume
        self.store = None
        if classifier.checkpoint_dir is None:
            if classifier.resume:
                raise ValueError("resume=True needs a checkpoint_dir.")
        else:
            self.store = CheckpointStore(classifier.checkpoint_dir)
            self.fingerprint = fingerprint(stages, classifier.scoring, data)

    def restore(self):
        """Take up a checkpoint, if wanted; return whether training is over."""
        checkpoint = self.store.load() if self.store and self.resume else None
        if checkpoint is None or not self.stages.can_resume:
            return False
        if checkpoint.fingerprint != self.fingerprint:
            raise ValueError(
                f"{self.store.path} is of another estimator, other parameters, scoring "
                "or data. Remove it, or use another checkpoint_dir."
            )
        if len(checkpoint.scores) > self.stages.n_stages:
            raise ValueError(
                f"{self.store.path} has {len(checkpoint.scores)} stages, more than the "
                f"{self.stages.n_stages} that are wanted."
            )
        stop = any([self.stopper.update(score) for score in checkpoint.scores])
        self.stages.restore(checkpoint.models, len(checkpoint.scores))
        return stop

    def stage_done(self):
        """Save, if it is time to."""
        if self.store is not None and self.store.is_due():
            self.save()

    def save(self):
        """Save the present state."""
        models = self.stages.dump() if self.store is not None else None
        if models is not None:
            self.store.save(Checkpoint(self.fingerprint, self.stopper.scores, models))


def fingerprint(stages, scoring, data):
    """Tell the estimator, the scoring and the data, in a few characters.

    The number of stages is left out: it may grow from one run to the next.
    """
    model = stages.estimator
    left_out = (stages.budget, *stages.without_effect)
    params = {k: _tell(v) for k, v in model.get_params().items() if k not in left_out}
    text = repr((type(model).__name__, params, _tell(scoring)))
    digest = hashlib.sha256(text.encode())
    for array in data:
        array = np.asarray(array)
        array = array.astype(str) if array.dtype.kind == "O" else array
        digest.update(repr((array.shape, array.dtype.kind)).encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _tell(value):
    """Text that is the same in every process; that of a function has its address."""
    if isinstance(value, partial):
        return repr((_tell(value.func), value.args, value.keywords))
    code = getattr(value, "__code__", None)
    if code is None:
        return getattr(value, "__qualname__", None) or repr(value)
    constants = [c for c in code.co_consts if not hasattr(c, "co_code")]
    return repr((value.__qualname__, code.co_code, code.co_names, constants))


def dump_sklearn(estimator):
    """Bytes of a scikit-learn estimator, in the format of skops."""
    skops = import_optional("skops.io", caller="checkpoint_dir", extra="checkpoint")
    return skops.dumps(estimator)


def load_sklearn(data):
    """Estimator from `dump_sklearn`; refuses types that are not known to be safe."""
    skops = import_optional("skops.io", caller="checkpoint_dir", extra="checkpoint")
    try:
        found = set(skops.get_untrusted_types(data=data))
        if found <= _TRUSTED:
            return skops.loads(data, trusted=sorted(found))
    except Exception as exc:
        raise ValueError(f"The checkpoint's model cannot be read: {exc}") from exc
    raise ValueError(
        f"The checkpoint is refused: it holds types {sorted(found - _TRUSTED)}, which "
        "are not part of a model."
    )
