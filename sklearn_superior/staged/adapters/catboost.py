"""CatBoost: its own, incrementally updated predictions, read by a metric."""

import signal
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import current_thread, main_thread

import numpy as np

from sklearn_superior.staged.adapters.base import (
    Stages,
    margin_to_proba,
    stand_in_labels,
)
from sklearn_superior.utils._warnings import ignored_warnings

# What would judge the stages by itself; not passed on.
_JUDGES = (
    "best_model_min_trees",
    "custom_loss",
    "custom_metric",
    "early_stopping_rounds",
    "od_pval",
    "od_type",
    "od_wait",
    "use_best_model",
)
_BUDGET = ("iterations", "n_estimators", "num_boost_round", "num_trees")
_LOSS = ("loss_function", "objective")


class CatBoostStages(Stages):
    """`catboost.CatBoostClassifier`."""

    # Trees that are not symmetric cannot be cut, and some parameters change the trees
    # of earlier stages. Training is deterministic, and is repeated then.
    trains_again = True
    known_causes = (
        "Of CatBoost's parameters, model_shrink_rate, langevin, posterior_sampling and "
        "monotone_constraints change earlier trees, and several threads may sum in "
        "another order: try without, or with thread_count=1."
    )
    _model = None  # what is trained: a copy with other parameters

    def __init__(self, estimator):
        super().__init__(estimator)
        params = estimator.get_params()
        for name in _LOSS:
            if params.get(name) not in (None, "Logloss", "MultiClass"):
                raise ValueError(
                    f"CatBoostClassifier({name}={params[name]!r}) cannot be stopped "
                    "here. Use 'Logloss' or 'MultiClass'."
                )
        if params.get("task_type") == "GPU":
            raise ValueError(
                "CatBoostClassifier(task_type='GPU') cannot be stopped here: on a GPU "
                "CatBoost takes neither callbacks nor metrics written in Python. Use "
                "task_type='CPU'."
            )
        if params.get("save_snapshot"):
            raise ValueError(
                "CatBoostClassifier(save_snapshot=True) cannot be stopped here: a "
                "second run would count its stages from the end of the snapshot. Use "
                "save_snapshot=False."
            )

    def set_seed(self, seed):
        # Only parameters that are set have a name here, and only one of the two may.
        names = ("random_seed", "random_state")
        own = [name for name in names if name in self.estimator.get_params()]
        self.estimator.set_params(**{own[0] if own else "random_seed": seed})

    @property
    def n_stages(self):
        """Largest number of stages, under any of the names that CatBoost takes."""
        return self.estimator.get_params().get(self.budget_name(), 1000)

    def budget_name(self):
        params = self.estimator.get_params()
        return next((name for name in _BUDGET if params.get(name)), _BUDGET[0])

    def fit(self, X, y, X_val, on_stage, sample_weight=None):
        metric = _PredictionReader()
        start = ExitStack()
        callback = _Callback(lambda: on_stage(margin_to_proba(metric.latest)), start)
        params = self.estimator.get_params()
        params = {k: v for k, v in params.items() if k not in _JUDGES}
        params |= {"eval_metric": metric, "metric_period": 1}
        if self.max_threads is not None:
            params["thread_count"] = self.limit_threads(params.get("thread_count"))
        self._model = type(self.estimator)(**params)
        self.column_classes = self._find_column_classes(y)
        with start, _note_interrupt(callback):
            # CatBoost recommends numba before the first stage.
            start.enter_context(ignored_warnings("Failed to import numba", UserWarning))
            self._model.fit(
                X,
                y,
                sample_weight=sample_weight,
                eval_set=(X_val, stand_in_labels(X_val, y)),
                use_best_model=False,
                callbacks=[callback],
                verbose=False,
            )
        if callback.error is not None:
            raise callback.error

    def _find_column_classes(self, y):
        """Return the classes in CatBoost's order, from a fit of one row for each.

        It sorts text that looks like numbers by value, and has `class_names`.
        """
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
                f"CatBoost takes different labels for one class: of {classes.tolist()} "
                f"it makes {found.tolist()}. Encode the labels, for example by "
                "sklearn.preprocessing.LabelEncoder."
            )
        return found

    def obstacle(self):
        return "CatBoost does not show the state of its random numbers"

    def keep(self, stage):
        from catboost import CatBoostError

        if stage + 1 < self._model.tree_count_:
            # If it cannot be cut, it predicts otherwise, and is trained again.
            with suppress(CatBoostError):
                self._model.shrink(stage + 1)
        metadata = self._model.get_metadata()
        if "training" in metadata.keys():  # the scores of labels that mean nothing
            del metadata["training"]
        with TemporaryDirectory() as folder:
            path = Path(folder) / "model.cbm"
            self._model.save_model(str(path))
            self.estimator.load_model(blob=path.read_bytes())


class _PredictionReader:
    """A metric that reads the scores of the validation data.

    Those of the training data come before them.
    """

    n_calls = 0

    def __deepcopy__(self, memo):
        return self  # CatBoost copies its parameters

    def is_max_optimal(self):
        return True

    def evaluate(self, approxes, target, weight):
        self.n_calls += 1
        if self.n_calls % 2 == 0:
            columns = [np.array(column) for column in approxes]
            self.latest = columns[0] if len(columns) == 1 else np.column_stack(columns)
        return 0.0, 1.0

    def get_final_error(self, error, weight):
        return error


class _Callback:
    """Ends training when `on_stage` says so.

    CatBoost loses the model when an exception passes through it. So an exception
    ends training, too, and is raised when that is over. `start` is a context that ends
    with the first stage.
    """

    def __init__(self, on_stage, start):
        self.on_stage, self.start = on_stage, start
        self.error = None

    def after_iteration(self, info):
        self.start.close()
        if self.error is None:
            try:
                return not self.on_stage()
            except BaseException as exc:
                self.error = exc
        return False


@contextmanager
def _note_interrupt(callback):
    """Make Ctrl-C end training at the next stage, where signals can be caught."""
    before = signal.getsignal(signal.SIGINT)
    if current_thread() is not main_thread() or not callable(before):
        yield
        return

    def note(*_):
        if callback.error is not None:  # a second Ctrl-C interrupts at once
            before(*_)
        callback.error = KeyboardInterrupt()

    signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
