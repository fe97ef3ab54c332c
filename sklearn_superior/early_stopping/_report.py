"""What is told while training goes on."""

from time import perf_counter


class Report:
    """Tells callbacks, and the screen, how training goes on."""

    def __init__(self, classifier, stages, stopper):
        self.classifier, self.stages, self.stopper = classifier, stages, stopper
        self.context = classifier._init_callback_context(max_subtasks=stages.n_stages)
        self.context.call_on_fit_task_begin(estimator=classifier)
        self.start = perf_counter()
        self._begin_stage()

    def _begin_stage(self):
        self.stage = self.context.subcontext(task_name=self.stages.unit)
        self.stage.call_on_fit_task_begin(estimator=self.classifier)

    def stage_done(self):
        """Report a stage; return whether a callback wants to stop."""
        stopper = self.stopper
        if self.classifier.verbose:
            facts = self.stages.facts()
            if stopper.best_iteration is not None:
                facts += [
                    f"score {stopper.scores[-1]:.6f}",
                    f"best {stopper.best_score:.6f} at {stopper.best_iteration}",
                ]
            facts += [f"{perf_counter() - self.start:.1f} s"]
            print(f"{self.stages.unit} {stopper.n_iter - 1}: {', '.join(facts)}")
        stop = self.stage.call_on_fit_task_end(estimator=self.classifier)
        if stopper.n_iter < self.context.max_subtasks:
            self._begin_stage()
        return bool(stop)

    def finished(self):
        """Report the end."""
        self.context.call_on_fit_task_end(estimator=self.classifier)
