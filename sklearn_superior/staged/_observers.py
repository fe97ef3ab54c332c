"""Observers of a run: scikit-learn's callbacks and printed lines."""

from time import perf_counter

from sklearn_superior.utils._sklearn_compat import begin_callbacks


class Observer:
    """What the loop over stages notifies; the defaults do nothing."""

    def begin_stage(self):
        """Notice that a stage begins."""

    def stage_done(self, result, is_last):
        """Notice that a stage is done; return whether to stop.

        Parameters
        ----------
        result : Result
            The outcome so far.

        is_last : bool
            Whether there will be no further stage.
        """
        return False


class Callbacks(Observer):
    """Report the tasks of a fit to the callbacks of an estimator, if it has any.

    Parameters
    ----------
    estimator : estimator
        Has the callbacks.

    data : Rows
        The data of the fit, which callbacks may ask for.

    n_tasks : int
        Maximum number of tasks.

    task_name : str
        What a task is called.

    fitted_attributes : callable, default=None
        Returns the attributes that make a copy of the estimator predict as the present
        stage does, or None if they are not available.
    """

    def __init__(self, estimator, data, n_tasks, task_name, fitted_attributes=None):
        weight = data.sample_weight
        self._data = {
            "estimator": estimator,
            "X": data.X,
            "y": data.y,
            "metadata": None if weight is None else {"sample_weight": weight},
        }
        self._task_name, self._options = task_name, {}
        if fitted_attributes is not None:
            self._options["reconstruction_attributes"] = fitted_attributes
        self._context = begin_callbacks(estimator, max_subtasks=n_tasks)
        if self._context is not None:
            self._context.call_on_fit_task_begin(**self._data)

    def begin_stage(self):
        """Report the start of a task."""
        if self._context is not None:
            self._task = self._context.subcontext(task_name=self._task_name)
            self._task.call_on_fit_task_begin(**self._data)

    def stage_done(self, *_):
        """Report the end of a task; return whether a callback wants to stop."""
        if self._context is None:
            return False
        return bool(self._task.call_on_fit_task_end(**self._data, **self._options))

    def finished(self, fitted_attributes):
        """Report the end of the fit."""
        if self._context is not None:
            self._context.call_on_fit_task_end(
                **self._data, reconstruction_attributes=fitted_attributes
            )


class StagePrinter(Observer):
    """Print a line for each stage.

    Parameters
    ----------
    stages : Stages
        The adapter of what is trained.

    stopper : EarlyStopper
        Has the scores.
    """

    def __init__(self, stages, stopper):
        self._stages, self._stopper = stages, stopper
        self._start = perf_counter()

    def stage_done(self, *_):
        """Print the present stage."""
        stopper, facts = self._stopper, self._stages.facts()
        if stopper.best_iteration is not None:
            facts += [
                f"score {stopper.scores[-1]:.6f}",
                f"best {stopper.best_score:.6f} at {stopper.best_iteration}",
            ]
        facts += [f"{perf_counter() - self._start:.1f} s"]
        print(f"{self._stages.unit} {stopper.n_iter - 1}: {', '.join(facts)}")
