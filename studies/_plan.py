"""The plan of a study: a file that is written before the first training.

It has a ``title``, the ``questions``, the data sets of each kind in ``[data.<kind>]``
and one ``[[trainings]]`` for each kind of training, with all sets of a kind or only
some, its ``sets``. A plan stays as it was committed,
with the paths of that time.
"""

import tomllib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from studies._runner import check_names
from studies.paper.protocol import DATASETS, SYNTHETIC, Job, spread_folds

TABLES, SIGNALS = "tables", "signals"  # kinds of data
_KEYS = ("title", "questions", "data", "trainings")


@dataclass(frozen=True)
class Plan:
    """A plan, as it is written.

    Parameters
    ----------
    text : str
        The content of the file.

    path : Path, default=None
        The file.
    """

    text: str
    path: Path | None = None

    @classmethod
    def read(cls, path):
        """Read and check the file of a plan."""
        path = Path(path)
        plan = cls(path.read_text("utf-8"), path)
        try:
            missing = [key for key in _KEYS if key not in plan.settings]
        except tomllib.TOMLDecodeError as exc:
            raise ValueError(f"{path} must be a TOML file: {exc}") from exc
        if missing:
            raise ValueError(
                f"{path} must have {', '.join(_KEYS)}. It lacks {missing}."
            )
        return plan

    @cached_property
    def settings(self):
        """The parsed file."""
        return tomllib.loads(self.text)

    def __getitem__(self, key):
        return self.settings[key]

    @property
    def datasets(self):
        """Names of all data sets."""
        return [name for kind in self["data"].values() for name in kind["sets"]]

    @property
    def estimators(self):
        """Names of all estimators."""
        return list(
            dict.fromkeys(name for t in self["trainings"] for name in t["estimators"])
        )

    def kind_of(self, dataset):
        """Return the kind of a data set; synthetic data counts as signals."""
        kinds = (k for k, data in self["data"].items() if dataset in data["sets"])
        return next(kinds, SIGNALS)

    def make_jobs(
        self,
        datasets=None,
        estimators=None,
        *,
        max_iter=None,
        n_folds=None,
        n_repeats=None,
        **_,
    ):
        """List the jobs of the plan, round by round; arguments restrict them.

        If the plan has an `order`, data sets follow it in each round.
        """
        check_names("--datasets", datasets, [SYNTHETIC, *self.datasets])
        check_names("--estimators", estimators, self.estimators)
        n_rounds = max(t["rounds"] for t in self["trainings"])
        return [
            job
            for n_round in range(min(n_rounds, n_repeats or n_rounds))
            for kind, dataset in self._in_order(datasets)
            for trainings in self["trainings"]
            if trainings["data"] == kind and n_round < trainings["rounds"]
            if dataset in trainings.get("sets", [dataset])
            for job in _list_jobs(trainings, dataset, n_round, max_iter, n_folds)
            if estimators is None or job.estimator in estimators
        ]

    def _in_order(self, datasets):
        sets = [
            (kind, dataset)
            for kind, data in self["data"].items()
            for dataset in self._sets_of(kind, data["sets"], datasets)
        ]
        order = self.settings.get("order")
        return sets if order is None else sorted(sets, key=lambda s: order.index(s[1]))

    def _sets_of(self, kind, names, chosen):
        if chosen is None:
            return names
        names = [SYNTHETIC, *names] if kind == SIGNALS else names
        return [name for name in names if name in chosen]


def _list_jobs(trainings, dataset, n_round, max_iter, n_folds):
    n = trainings["folds"] if n_folds is None else min(n_folds, trainings["folds"])
    if dataset in DATASETS:  # of the paper, in blocks
        places = [(fold, n_round) for fold in spread_folds(dataset, n)]
    else:
        places = [(n_round * trainings["folds"] + fold, 0) for fold in range(n)]
    loss, max_iter = trainings["loss"], max_iter or trainings["max_iter"]
    return [
        Job(dataset, estimator, loss, max_iter, *place)
        for place in places
        for estimator in trainings["estimators"]
    ]
