"""Progress of training, for callbacks and for `verbose`."""

from time import perf_counter

from sklearn_superior.utils._sklearn_compat import begin_callbacks


class Progress:
    """Report progress to the callbacks of scikit-learn and, if verbose, print it.

    Parameters
    ----------
    classifier : estimator
        Has the callbacks.

    train : Rows
        The training data, which callbacks may ask for.

    stages : Stages
        What is trained.

    stopper : EarlyStopper
        Has the scores.

    fitted_attributes : callable
        Returns the attributes that make a copy of the classifier predict as the
        present stage does; None if not available.
    """

    def __init__(self, classifier, train, stages, stopper, fitted_attributes):
        self.classifier, self.stages, self.stopper = classifier, stages, stopper
        weight = train.sample_weight
        self._data = {
            "estimator": classifier,
            "X": train.X,
            "y": train.y,
            "metadata": None if weight is None else {"sample_weight": weight},
        }
        self._fitted_attributes = fitted_attributes
        self._start = perf_counter()
        self.context = begin_callbacks(classifier, max_subtasks=stages.n_stages)
        if self.context is not None:
            self.context.call_on_fit_task_begin(**self._data)

    def begin_stage(self):
        """Report that a stage is about to be trained."""
        if self.context is None:
            return
        self._stage = self.context.subcontext(task_name=self.stages.unit)
        self._stage.call_on_fit_task_begin(**self._data)

    def stage_done(self):
        """Report that it is trained; return whether a callback wants to stop."""
        if self.classifier.verbose:
            self._print()
        if self.context is None:
            return False
        stop = self._stage.call_on_fit_task_end(
            **self._data, reconstruction_attributes=self._fitted_attributes
        )
        return bool(stop)

    def _print(self):
        stopper = self.stopper
        facts = self.stages.facts()
        if stopper.best_iteration is not None:
            facts += [
                f"score {stopper.scores[-1]:.6f}",
                f"best {stopper.best_score:.6f} at {stopper.best_iteration}",
            ]
        facts += [f"{perf_counter() - self._start:.1f} s"]
        print(f"{self.stages.unit} {stopper.n_iter - 1}: {', '.join(facts)}")

    def finished(self, fitted_attributes):
        """Report the end."""
        if self.context is not None:
            self.context.call_on_fit_task_end(
                **self._data, reconstruction_attributes=fitted_attributes
            )
