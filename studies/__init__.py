"""Studies: comparisons of rules and procedures on many data sets.

A study is a plan, a file such as ``rules.toml``, and the functions that the plan names.
One command does the trainings of any plan and writes its report::

    python -m studies run benchmarks/studies/rules.toml --folder FOLDER
    python -m studies report benchmarks/studies/rules.toml --folder FOLDER

For a new study write a plan with a ``title``, the ``questions``, the data sets of each
kind in ``[data.<kind>]``, one ``[[trainings]]`` for each kind of training, and the
``functions``: a module, or a folder such as ``rules``, that has

``FIELDS``
    what every record has;
``NAMES``
    what the report calls the estimators;
``load(plan, dataset, data_home)``
    reads a data set;
``train(plan, job, data_home, device)``
    does a training and returns its record, ready for JSON;
``answer(plan, records)``
    the parts of the report: an ``Answer``.
"""
