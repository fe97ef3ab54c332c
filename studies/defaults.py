"""The evidence for the default of early stopping, recomputed from the records.

The default is the refined log loss with a patience of 20 and a temperature of at least
1, which softens probabilities and never sharpens them. It was found after the second
study, by replaying the records of that study. Run this to replay them again; nothing is
trained::

    python -m studies.defaults

It reads the records of the studies and writes the page ``defaults.md`` beside them.
"""

import argparse
import math
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

from studies import procedures
from studies._evidence import KINDS, Study
from studies._figures import KIND_NAMES
from studies._measures import LAST, get_way, leave_out, log_ratio, raise_loss, replay
from studies._page import Heading, Paragraph, Table, as_markdown, interval, signed
from studies._statistics import mean, summarize
from studies._store import RecordStore
from studies._wording import show
from studies.procedures.analysis import has_one_class

RECORDS = Path(__file__).with_name("records")
TITLE = "The default of early stopping, replayed"
SOFT = "softened_log_loss"  # with a temperature of at least 1


class Policy(NamedTuple):
    """A rule with a patience, and the log loss of what is shipped.

    The name of a rule begins with ``refined`` if any temperature is fitted first, and
    with ``softened`` if it is at least 1. A patience of None sees all stages.
    """

    rule: str
    patience: int | None
    shipped: str = "log_loss"


FORMER = Policy("penalized_brier", 10)
DEFAULT = Policy(SOFT, 20, SOFT)
TESTED = Policy("refined_penalized_log_loss", 20, "refined_log_loss")
LONGEST = Policy(SOFT, 50, SOFT)
LAST_ANY = Policy(LAST, None, "refined_log_loss")
POLICIES = {
    "refined log loss, 50, T ≥ 1": LONGEST,
    "refined PLL, 50, T ≥ 1": Policy("softened_penalized_log_loss", 50, SOFT),
    "refined log loss, 10, T ≥ 1": Policy(SOFT, 10, SOFT),
    "refined log loss, 20, T ≥ 1 (the default)": DEFAULT,
    "last stage, T ≥ 1": Policy(LAST, None, SOFT),
    "last stage, any T": LAST_ANY,
    "refined PLL, 20, T ≥ 1": Policy("softened_penalized_log_loss", 20, SOFT),
    "refined log loss, 20, any T": Policy("refined_log_loss", 20, "refined_log_loss"),
    "log loss, 10, no temperature": Policy("log_loss", 10),
    "refined PLL, 20, any T (what H3 tested)": TESTED,
    "Brier score, 10, no temperature": Policy("brier", 10),
}
TEMPERATURES = ((0, 0.5), (0.5, 0.9), (0.9, 1), (1, 1.5), (1.5, 2), (2, math.inf))


# Records ------------------------------------------------------------------------------


def soften(record):
    """Return a record that has the losses with a temperature of at least 1, too.

    That temperature is the recorded one, or 1 if that is below 1. This is exact, and
    needs no further fit: in 1 / T the log loss is convex, and the prior is lowest at
    T = 1. If the log loss alone is best below 1, then both only rise with T above 1,
    so that 1 is the best that is left. If it is best above 1, both only rise as T
    falls below 1, so that the recorded temperature is above 1 already.

    Records of the other two studies get the names of the second one on the way.
    """
    if record["temperature"] is None:  # of the tuned arm, which has no stages
        return record
    sharpens = [t is not None and t < 1 for t in record["temperature"]]
    parts = {}
    for part in ("validation", "test"):
        scores = {
            name.replace("calibrated_log_loss", "refined_log_loss"): values
            for name, values in record[part].items()
        }
        both = zip(scores["log_loss"], scores["refined_log_loss"], strict=True)
        parts[part] = scores | {
            SOFT: [pair[not s] for pair, s in zip(both, sharpens, strict=True)]
        }
    return record | parts | {"replayed": {}}


def unpack_small(record, prior="0.5"):
    """Return a record of few validation rows in the shape of the others."""
    stages = record["stages"]
    refined = {"refined_log_loss": f"log_loss {prior}"}
    validation = refined | {key: key for key in ("log_loss", "brier", "errors")}
    test = {"log_loss": "test_log_loss", "f1_macro": "test_f1"}
    test["refined_log_loss"] = f"test_log_loss {prior}"
    return record | {
        "validation": {name: stages[key] for name, key in validation.items()},
        "test": {name: stages[key] for name, key in test.items()},
        "temperature": stages[f"temperature {prior}"],
    }


# Measures: functions of a softened record ---------------------------------------------


def keep(record, policy):
    """Return the stage that a policy keeps."""
    key = policy[:2]
    if key not in record["replayed"]:
        record["replayed"][key] = replay(record, *key)[0]
    return record["replayed"][key]


def find_loss(record, policy):
    """Return the test log loss of a policy, or of a way that a user runs."""
    if isinstance(policy, str):
        return raise_loss(get_way(record, policy, "log_loss"))
    stage = keep(record, policy)
    return math.nan if stage is None else raise_loss(record["test"][policy[2]][stage])


def loss_ratio(policy, baseline=FORMER):
    """Return the measure: log points of test log loss, relative to a baseline."""

    def measure(record):
        losses = (find_loss(record, p) for p in (policy, baseline))
        return 100 * math.log(next(losses) / next(losses))

    return measure


def f1_gain(policy, baseline):
    """Return the measure: points of macro F1 on test data, over a baseline."""

    def measure(record):
        ours, other = (keep(record, p) for p in (policy, baseline))
        if ours is None or other is None:
            return math.nan
        scores = record["test"]["f1_macro"]
        return 100 * (scores[ours] - scores[other])

    return measure


def average_sets(records, measure, group):
    """Return the value of each data set: means of groups of trainings, then of sets.

    `group` takes a job; trainings with the same value are averaged first.
    """
    groups = defaultdict(lambda: defaultdict(list))
    for record in records:
        job = record["job"]
        groups[job["dataset"]][group(job)].append(measure(record))
    return {
        name: mean(mean(values) for values in own.values())
        for name, own in groups.items()
    }


# The page -----------------------------------------------------------------------------

HEADER = ["log points", "95 % interval", "worst", "better"]
MODELS = {
    "HistGradientBoosting": {"hgb"},
    "XGBoost": {"xgboost"},
    "multilayer perceptron": {"mlp"},
    "convolutional network": {"cnn"},
    "logistic regression by SGD": {"sgd"},
    "boosting and perceptron": {"hgb", "xgboost", "mlp"},
}


def show_units(units):
    """Return cells: mean, interval, worst unit and units that are better."""
    row = summarize(units.values())
    worst = max(units, key=units.get)
    return [
        signed(row["difference"], 1),
        interval(row["low"], row["high"], 1),
        f"{signed(units[worst], 1)} ({worst.replace('_', ' ')})",
        f"{row['n_down']} of {row['n']}",
    ]


def make_table(study, first, measures):
    """Return a table with a row for each measure, over the units of the study."""
    lines = [
        [name, *show_units(study.units(study.values(measure)))]
        for name, measure in measures.items()
    ]
    return Table([first, *HEADER], lines)


def compare_policies(study):
    """Return the sections of the second study: all policies, and a closer look."""
    without = {
        f"refined log loss, {patience}, T ≥ 1": leave_out(
            loss_ratio(Policy(SOFT, patience, SOFT)), has_one_class
        )
        for patience in (10, 20, 50)
    }
    default = loss_ratio(DEFAULT)
    values = {KIND_NAMES[kind]: study.values(default, [kind]) for kind in KINDS}
    seen = study.values(default, seen=True)
    seen = {name: seen[name] for name in study.plan["seen"] if name in seen}
    if seen:
        values["data sets of the pilot, not in the tables above"] = seen
    kinds = [[name, *show_units(study.units(own))] for name, own in values.items()]
    return [
        Heading(2, "Policies on the second study"),
        Paragraph(
            "All of these choose a stage of the same recorded trainings. A policy is a "
            "rule, its patience, and the temperature, which the rule and the shipped "
            "model share. The last stage is not chosen by a rule. Every row can be "
            "recomputed exactly, because the records hold both losses and the "
            "temperature of every stage."
        ),
        make_table(study, "policy", {n: loss_ratio(p) for n, p in POLICIES.items()}),
        Paragraph(
            "One fold of room occupancy has a single class in its test part. Without "
            "it, the patience makes no difference:"
        ),
        make_table(study, "policy", without),
        Paragraph("The default on each kind of data:"),
        Table(["data", *HEADER], kinds),
    ]


def compare_temperatures(study):
    """Return the section on what the two-sided temperature did."""
    lines = []
    for least, most in TEMPERATURES:
        values = [
            log_ratio("default", "former")(record)
            for record in study.trainings()
            if least < get_way(record, "default", "temperature") <= most
        ]
        text = f"above {least}" if most == math.inf else f"{least} to {most}"
        n_worse = sum(value > 0 for value in values)
        lines.append([text, str(len(values)), signed(mean(values), 1), str(n_worse)])
    return [
        Heading(2, "What sharpening did"),
        Paragraph(
            "Refined PLL with a patience of 20 and any temperature against PBS with a "
            "patience of 10, by the temperature that was shipped. Trainings, not "
            "units; a bin includes its upper end."
        ),
        Table(["temperature", "trainings", "log points", "worse"], lines),
    ]


def compare_others(rules, small):
    """Return the section on the records that had no part in finding the default."""
    measure = loss_ratio(DEFAULT)
    values = average_sets(small, measure, lambda job: None)
    lines = [["few validation rows, all models", *show_units(values)]]
    for name, models in MODELS.items():
        own = [record for record in rules if record["job"]["estimator"] in models]
        values = average_sets(own, measure, lambda job: job["estimator"])
        lines.append([f"first study, {name}", *show_units(values)])
    return [
        Heading(2, "Other records"),
        Paragraph(
            "The default against PBS with a patience of 10 and no temperature. Data "
            "sets are the units, and both studies have 16 of them in common. The first "
            "study fitted its temperatures without a prior. Its networks and linear "
            "models are far too confident without a temperature, which makes their "
            "gains large."
        ),
        Table(["records", *HEADER], lines),
    ]


def compare_further(study):
    """Return the section of single figures that other pages use."""
    best = "refined log loss, 50, T ≥ 1"
    few = "fewer than 60 validation rows"

    def has_enough_rows(record):
        return record["n_rows"]["validation"] >= 60

    losses = {
        f"StagedSearchCV, folds − {best}": loss_ratio("folds", LONGEST),
        f"StagedSearchCV, all rows − {best}": loss_ratio("all", LONGEST),
        "StagedSearchCV, all rows − folds": loss_ratio("all", "folds"),
        "refined PLL, 20, any T − last stage, any T": loss_ratio(TESTED, LAST_ANY),
        "the default − last stage, any T": loss_ratio(DEFAULT, LAST_ANY),
        f"{few}: refined PLL, 20, any T − PBS, 10": leave_out(
            loss_ratio(TESTED), has_enough_rows
        ),
        f"{few}: the default − PBS, 10": leave_out(
            loss_ratio(DEFAULT), has_enough_rows
        ),
    }
    refined_pll = "refined_penalized_log_loss"
    gains = [
        ("refined PLL − log loss", refined_pll, "log_loss", 20),
        ("refined PLL − refined log loss", refined_pll, "refined_log_loss", 20),
        ("PLL − log loss", "penalized_log_loss", "log_loss", None),
        ("refined log loss − log loss", "refined_log_loss", "log_loss", None),
        ("refined PLL − refined log loss", refined_pll, "refined_log_loss", None),
        ("refined PLL − last stage", refined_pll, LAST, 20),
    ]
    of_f1 = []
    for name, rule, baseline, patience in gains:
        measure = f1_gain(Policy(rule, patience), Policy(baseline, patience))
        rows = [study.summary(measure, kinds) for kinds in (["signals"], KINDS)]
        of_f1.append([name, str(patience or "all stages"), *map(show, rows)])
    return [
        Heading(2, "Single figures"),
        Paragraph(
            "Second study, test log loss. The search chose by refined PLL, and its "
            "temperatures could be below 1."
        ),
        make_table(study, "difference", losses),
        Paragraph("Second study, points of macro F1 on test data:"),
        Table(["difference", "patience", "signals", "all data"], of_f1),
    ]


def make_parts(of_procedures, of_rules, of_small):
    """Return the parts of the page from the records of three studies."""
    study = Study(procedures.PLAN, [soften(record) for record in of_procedures])
    rules = [soften(r) for r in of_rules if r["job"]["loss"] == "log_loss"]
    small = [soften(unpack_small(record)) for record in of_small]
    return [
        Heading(1, TITLE),
        Paragraph(
            "Log points are 100 times the logarithm of the ratio of two test log "
            "losses: −10 log points are 9.5 % less. Unless a table says otherwise, "
            "they are relative to PBS with a patience of 10 and no temperature, the "
            "default before. Negative is better. Intervals are 95 % (Student's t) "
            "over units, which are families of data sets. The default was found on the "
            "records of the second study, so none of this is a test. Figures of pilots "
            "that left no records cannot be recomputed and are not here."
        ),
        *compare_policies(study),
        *compare_temperatures(study),
        *compare_others(rules, small),
        *compare_further(study),
    ]


def load_all(folder=RECORDS):
    """Return the records of the second study, the first, and of few rows."""
    names = ("procedures", "rules", "small")
    return [RecordStore(Path(folder) / name).load_all()[0] for name in names]


def main():
    """Write the page, and print it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--records", type=Path, default=RECORDS)
    folder = parser.parse_args().records
    text = as_markdown(make_parts(*load_all(folder)))
    (folder / "defaults.md").write_text(text, "utf-8")
    print(text)


if __name__ == "__main__":
    main()
