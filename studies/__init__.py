"""Studies: what rules and procedures are worth, on many data sets.

They are not installed. In the folder that has this one::

    python -m studies paper run --quick     the replication of the paper
    python -m studies paper report
    python -m studies rules run --datasets glass vehicle
    python -m studies procedures report --folder studies/records/procedures

``python -m studies --help`` lists the others. A study is a module, or a folder such as
``rules``, with

``TITLE``
    of its report;
``FIELDS``
    what every record has;
``QUICK``
    the data sets of a quick run;
``make_jobs(datasets, estimators, *, max_iter, n_folds, n_repeats, data_home)``
    lists the trainings, each a frozen dataclass with a ``dataset`` and a ``name``. None
    means no restriction, and a study ignores arguments that do not apply to it;
``load(dataset, data_home)``
    reads a data set, a digest of which becomes part of each record;
``train(job, data_home, device)``
    does a training and returns its record, ready for JSON: its ``job``, its ``seconds``
    and the other ``FIELDS``;
``make_parts(records)``
    turns records into the parts of a page.

It is listed in ``__main__.py``. All studies share the runner, the record store and the
page. A study that is planned before its first training also has a ``plan.toml``, see
``_plan.py``, ``_frozen.py``, ``_evidence.py`` and ``_report.py``. The committed records
are in ``records``, a compressed file for each data set. ``python -m studies.defaults``
replays them to recompute the evidence for the default of early stopping.
"""
