"""What callbacks of scikit-learn are told of a search."""

from sklearn_superior.utils._sklearn_compat import begin_callbacks


class SearchCallbacks:
    """Reports the candidates of a search to the callbacks of scikit-learn, if any.

    Each candidate is a task. It is reported when it is finished, because several may
    be trained at once, in other processes.

    Parameters
    ----------
    search : StagedSearchCV
        Has the callbacks.

    data : Rows
        The data, which callbacks may ask for.

    n_candidates : int
        Number of candidates.
    """

    def __init__(self, search, data, n_candidates):
        weight = data.sample_weight
        self._data = {
            "estimator": search,
            "X": data.X,
            "y": data.y,
            "metadata": None if weight is None else {"sample_weight": weight},
        }
        self._context = begin_callbacks(search, max_subtasks=n_candidates)
        if self._context is not None:
            self._context.call_on_fit_task_begin(**self._data)

    def candidate_done(self):
        """Report a candidate; return whether a callback wants to stop the search."""
        if self._context is None:
            return False
        task = self._context.subcontext(task_name="candidate")
        task.call_on_fit_task_begin(**self._data)
        return bool(task.call_on_fit_task_end(**self._data))

    def finished(self, fitted_attributes):
        """Report the end of the search; its attributes make a copy predict."""
        if self._context is not None:
            self._context.call_on_fit_task_end(
                **self._data, reconstruction_attributes=fitted_attributes
            )
