"""Command line of the replication."""

import argparse
import sys
from contextlib import contextmanager
from pathlib import Path

from joblib import parallel_config

from sklearn_superior.datasets import list_paper_datasets
from sklearn_superior.replication import _protocol, _rules_plan
from sklearn_superior.replication._protocol import SYNTHETIC
from sklearn_superior.replication._run import run
from sklearn_superior.replication._tables import TABLES
from sklearn_superior.utils._optional import import_optional

_LOSSES = ("brier", "log_loss")
# What `run` needs of each plan.
PLANS = {
    "paper": {
        "load": _protocol.load_windows,
        "train": _protocol.train,
        "compress": False,
    },
    "rules": {
        "load": _rules_plan.load_task,
        "train": _rules_plan.train_job,
        "compress": True,
    },
}
_DATASETS = tuple(dict.fromkeys(_protocol.DATASETS + _rules_plan.DATASETS))
_ESTIMATORS = tuple(dict.fromkeys([*_protocol.ESTIMATORS, *_rules_plan.ESTIMATORS]))


def main(args=None):
    """Run the command that the arguments give; return its exit code."""
    options = _make_parser().parse_args(args)
    return options.command(options)


def _make_parser():
    parser = argparse.ArgumentParser(
        prog="superior-replicate",
        description="Do the experiments of the paper on superior scoring rules again "
        "(--plan paper), or compare many rules on many data sets (--plan rules).",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    listing = commands.add_parser("list", help="list the data sets")
    listing.set_defaults(command=_list)
    training = commands.add_parser(
        "run", help="train; what is done already is not done again"
    )
    training.set_defaults(command=_run)
    add = training.add_argument
    add(
        "--datasets",
        nargs="+",
        choices=_DATASETS,
        metavar="NAME",
        help="names as in `list`, or synthetic; default: all of the plan, which are "
        "downloaded if need be",
    )
    add(
        "--estimators",
        nargs="+",
        choices=_ESTIMATORS,
        help="what to train; default: cnn, the network, and all with --plan rules",
    )
    add(
        "--losses",
        nargs="+",
        choices=_LOSSES,
        help="what the network minimises; default: both, one after the other",
    )
    add("--epochs", type=_positive, help="epochs or trees; default: 100")
    add("--folds", type=_positive, help="folds of each data set; default: 5")
    add("--repeats", type=_positive, help="trainings of each fold; default: 1")
    where = training.add_mutually_exclusive_group()
    where.add_argument(
        "--jobs", type=_jobs, help="trainings at once; -1: all cores; default: 1"
    )
    where.add_argument(
        "--dask",
        metavar="ADDRESS",
        help="train on a Dask cluster, for example tcp://host:8786, whose workers see "
        "the same files; as many trainings at once as it has threads",
    )
    add("--device", default="auto", help="auto, cpu, cuda, cuda:1 or mps")
    add("--data-home", help="folder of the data sets")
    add("--quick", action="store_true", help="12 epochs, 2 folds, synthetic data")
    report = commands.add_parser("report", help="write the report of what is done")
    report.set_defaults(command=_report)
    report.add_argument(
        "--home", help="address of the documentation's pages, for links to them"
    )
    for command in (training, report):
        command.add_argument(
            "--folder",
            type=Path,
            help="where the records are; default: replication, and evidence with "
            "--plan rules",
        )
        command.add_argument(
            "--plan",
            choices=tuple(PLANS),
            default="paper",
            help="the paper's experiments, or the comparison of rules, whose epochs, "
            "folds and repeats are in its plan unless they are given; default: paper",
        )
    return parser


def _positive(text):
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be an int from 1 up, got {text!r}")
    return int(text)


def _jobs(text):
    return -1 if text == "-1" else _positive(text)


def _list(options):
    print(f"{'name':29} classes  channels  window  step  blocks")
    for d in list_paper_datasets():
        blocks = "/".join(map(str, d.blocks))
        print(
            f"{d.name:29} {d.n_classes:7}  {len(d.feature_names):8}  {d.window:6}  "
            f"{d.step:4}  {blocks}"
        )
    print(f"\n{'name (--plan rules only)':29} classes  features    rows")
    for table in TABLES.values():
        print(
            f"{table.name:29} {table.n_classes:7}  {table.n_features:8}  "
            f"{table.n_rows:6}"
        )
    return 0


def _run(options):
    plan = {"paper": _protocol, "rules": _rules_plan}[options.plan]
    for option, known in (
        ("datasets", plan.DATASETS),
        ("estimators", tuple(plan.ESTIMATORS)),
    ):
        unknown = sorted(set(getattr(options, option) or ()) - set(known))
        if unknown:
            print(
                f"--plan {options.plan} has the {option} {', '.join(known)}. Got "
                f"{', '.join(unknown)}.",
                file=sys.stderr,
            )
            return 2
    jobs = _make_jobs(options)
    if not jobs:
        print(
            f"--plan {options.plan} has no such training: only the network can be "
            "trained with the Brier score.",
            file=sys.stderr,
        )
        return 2
    try:
        with _cluster(options.dask):
            n_failed = run(
                jobs,
                _folder(options),
                **PLANS[options.plan],
                n_jobs=options.jobs,
                data_home=options.data_home,
                device=options.device,
            )
    except (OSError, ImportError, ValueError) as exc:
        print(exc, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("Stopped. Run the same command again to resume.", file=sys.stderr)
        return 130
    print(f"The records are in {_folder(options)}.")
    if n_failed:
        print(f"{n_failed} trainings failed.", file=sys.stderr)
    return int(n_failed > 0)


def _make_jobs(options):
    """List the jobs that the arguments ask for."""
    datasets, max_iter, n_folds = options.datasets, options.epochs, options.folds
    if options.quick:
        datasets, max_iter, n_folds = (
            datasets or [SYNTHETIC],
            max_iter or 12,
            n_folds or 2,
        )
    if options.plan == "rules":
        jobs = _rules_plan.make_jobs(
            datasets,
            options.estimators,
            max_iter=max_iter,
            n_folds=n_folds,
            n_rounds=options.repeats or (1 if options.quick else None),
        )
    else:
        jobs = _protocol.make_jobs(
            datasets or _protocol.DATASETS[1:],
            options.estimators or ["cnn"],
            max_iter=max_iter or 100,
            n_folds=n_folds or 5,
            n_repeats=options.repeats or 1,
        )
    return [j for j in jobs if options.losses is None or j.loss in options.losses]


def _folder(options):
    default = {"paper": "replication", "rules": "evidence"}
    return options.folder or Path(default[options.plan])


@contextmanager
def _cluster(address):
    """Send the trainings to the Dask cluster at this address, if there is one."""
    if address is None:
        yield
        return
    distributed = import_optional("distributed", caller="--dask", extra="dask")
    print(f"Looking for workers at {address}.")
    try:
        client = distributed.Client(address)
        client.wait_for_workers(1, timeout=30)
    except (OSError, ValueError) as exc:
        raise OSError(f"There are no workers at --dask {address}: {exc}") from exc
    with client, parallel_config(backend="dask"):
        yield


def _report(options):
    from sklearn_superior.replication._evidence_report import write_evidence
    from sklearn_superior.replication._report import write_report

    write = {"paper": write_report, "rules": write_evidence}[options.plan]
    try:
        paths = write(_folder(options), options.home)
    except (OSError, ImportError) as exc:
        print(exc, file=sys.stderr)
        return 2
    for path in paths:
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
