"""CatBoost: its own, incrementally updated predictions, read through a metric."""

import signal
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import current_thread, main_thread

import numpy as np
from catboost import CatBoostError

from sklearn_superior.staged.adapters.base import (
    Stages,
    margin_to_proba,
    refuse,
    stand_in_labels,
)

# Whatever would score or stop the iterations itself is not passed on.
_JUDGES = (
    "best_model_min_trees custom_loss custom_metric early_stopping_rounds od_pval "
    "od_type od_wait use_best_model"
).split()
_BUDGET = ("iterations", "n_estimators", "num_boost_round", "num_trees")
_LOSS = ("loss_function", "objective")


class CatBoostStages(Stages):
    """`catboost.CatBoostClassifier`."""

    # Non-symmetric trees cannot be cut back, and some parameters change earlier trees.
    # Training is deterministic, so in these cases it is repeated.
    trains_again = True
    known_causes = (
        "Of CatBoost's parameters, model_shrink_rate, langevin, posterior_sampling and "
        "monotone_constraints change earlier trees, and several threads may sum in a "
        "different order: try without them, or with thread_count=1."
    )
    _model = None  # what is trained: a copy with other parameters

    def __init__(self, estimator):
        super().__init__(estimator)
        params = estimator.get_params()
        for name in _LOSS:
            if params.get(name) not in (None, "Logloss", "MultiClass"):
                problem = "cannot be stopped here"
                refuse(estimator, name, problem, "'Logloss' or 'MultiClass'")
        if params.get("task_type") == "GPU":
            problem = "supports neither callbacks nor metrics in Python"
            refuse(estimator, "task_type", problem, "task_type='CPU'")
        if params.get("save_snapshot"):
            problem = "makes a second run count its stages from the end of the snapshot"
            refuse(estimator, "save_snapshot", problem, "save_snapshot=False")

    def set_seed(self, seed):
        # get_params only has parameters that are set, and only one of these may be.
        names = ("random_seed", "random_state")
        own = [name for name in names if name in self.estimator.get_params()]
        self.estimator.set_params(**{own[0] if own else "random_seed": seed})

    @property
    def n_stages(self):
        """Maximum number of stages, under any of its names."""
        return self.estimator.get_params().get(self.budget_name(), 1000)

    def budget_name(self):
        params = self.estimator.get_params()
        return next((name for name in _BUDGET if params.get(name)), _BUDGET[0])

    def fit(self, X, y, X_val, on_stage, sample_weight=None):
        hook = _Hook(on_stage)
        params = self.estimator.get_params()
        params = {k: v for k, v in params.items() if k not in _JUDGES}
        params |= {"eval_metric": hook, "metric_period": 1}
        if self.max_threads is not None:
            params["thread_count"] = self.limit_threads(params.get("thread_count"))
        self._model = type(self.estimator)(**params)
        self.column_classes = self._find_column_classes(y)
        with _note_interrupt(hook):
            self._model.fit(
                X,
                y,
                sample_weight=sample_weight,
                eval_set=(X_val, stand_in_labels(X_val, y)),
                use_best_model=False,
                callbacks=[hook],
                verbose=False,
            )
        if hook.error is not None:
            raise hook.error

    def _find_column_classes(self, y):
        """Return the classes in CatBoost's order."""
        # CatBoost sorts text that looks like numbers by value, and has `class_names`.
        # A fit with one row per class is the only public way to know the order.
        own = self.estimator.get_params()
        names = {k: own[k] for k in ("class_names", *_LOSS) if k in own}
        classes = np.unique(y)
        small = type(self.estimator)(
            iterations=1,
            depth=1,
            thread_count=1,
            verbose=False,
            allow_writing_files=False,
            **names,
        )
        found = small.fit(np.arange(len(classes))[:, np.newaxis], classes).classes_
        if len(found) < len(classes):
            raise ValueError(
                f"CatBoost takes different labels for one class: it turns "
                f"{classes.tolist()} into {found.tolist()}. Encode the labels, for "
                "example with sklearn.preprocessing.LabelEncoder."
            )
        return found

    def obstacle(self):
        return "CatBoost does not expose its RNG state"

    def keep(self, stage):
        if stage + 1 < self._model.tree_count_:
            # A model that cannot be cut is noticed by its predictions, and retrained.
            with suppress(CatBoostError):
                self._model.shrink(stage + 1)
        metadata = self._model.get_metadata()
        if "training" in metadata.keys():  # scores of the placeholder labels
            del metadata["training"]
        with TemporaryDirectory() as folder:
            path = Path(folder) / "model.cbm"
            self._model.save_model(str(path))
            self.estimator.load_model(blob=path.read_bytes())


class _Hook:
    """A metric that reads the predictions, and a callback that reports them.

    An exception that passes through CatBoost destroys the model. So an exception only
    ends training here, and is raised afterwards.
    """

    no_jit = True  # CatBoost would try to compile the metric with numba
    n_calls, error = 0, None

    def __init__(self, on_stage):
        self.on_stage = on_stage

    def __deepcopy__(self, memo):
        return self  # CatBoost copies its parameters, but we want to see the calls

    def is_max_optimal(self):
        return True

    def evaluate(self, approxes, target, weight):
        # It is called for the training data first, then for the validation data.
        self.n_calls += 1
        if self.n_calls % 2 == 0:
            columns = [np.array(column) for column in approxes]
            self.latest = columns[0] if len(columns) == 1 else np.column_stack(columns)
        return 0.0, 1.0

    def get_final_error(self, error, weight):
        return error

    def after_iteration(self, info):
        if self.error is None:
            try:
                return not self.on_stage(margin_to_proba(self.latest))
            except BaseException as exc:
                self.error = exc
        return False


@contextmanager
def _note_interrupt(hook):
    """Make Ctrl-C end training at the next stage, where CatBoost calls back."""
    before = signal.getsignal(signal.SIGINT)
    if current_thread() is not main_thread() or not callable(before):
        yield
        return

    def note(*_):
        if hook.error is not None:  # a second Ctrl-C interrupts at once
            before(*_)
        hook.error = KeyboardInterrupt()

    signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
