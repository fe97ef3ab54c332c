"""What the comparison of procedures shows beyond its five tests.

None of this is a test: means over the units, as in `analysis`, with 95 % t intervals.
Data sets of the pilot are left out here as well.
"""

import math
from collections import defaultdict

import numpy as np

from studies._evidence import KINDS
from studies._measures import (
    LAST,
    calibration_error,
    choose,
    f1_gain,
    get_way,
    log_ratio,
    raise_loss,
    replay,
    way_gain,
)
from studies._statistics import mean, summarize
from studies.procedures.analysis import (
    AT_RANDOM,
    BASELINE,
    HYPOTHESES,
    REFINED,
    RULES,
    TUNED,
)

WAYS = ("default", "former", "all", "folds")
PATIENCES = (10, 20, 50, None)
ALL_KINDS = (*KINDS, AT_RANDOM)
SIZES = ((0, 59, "below 60"), (60, 250, "60 to 250"), (251, math.inf, "above 250"))
REFITS = ("all", "folds")  # the first is kept if both lose the same
WITHIN = (("default", "former"), ("all", "default"), ("all", "folds"))


def of_kinds(study, measure, kinds=ALL_KINDS, **options):
    """Return the summary of a measure for each kind of data: kind -> summary."""
    return {kind: study.summary(measure, [kind], **options) for kind in kinds}


def compare_rules(study, baseline):
    """Return the gain in F1 of every rule over a baseline: rule -> kind -> summary."""
    return {
        rule: of_kinds(study, f1_gain(rule, baseline))
        for rule in RULES
        if rule != baseline
    }


def split_by_kind(study):
    """Return the summaries of each hypothesis by kind: name -> kind -> summary."""
    return {h.name: of_kinds(study, h.measure) for h in HYPOTHESES}


def split_by_model(study):
    """Return the summaries of each hypothesis by model: name -> model -> summary."""
    models = dict.fromkeys(name for kind in KINDS for name in study.planned[kind])
    return {
        h.name: {m: study.summary(h.measure, h.kinds, models=[m]) for m in models}
        for h in HYPOTHESES
    }


def compare_splits(study):
    """Compare new groups with a split at random, on the same data sets.

    Returns the summaries of `groups`, of `at_random` and of their `difference` for the
    measures of H1 and H2: name -> summaries.
    """
    rows = {}
    for hypothesis in HYPOTHESES[:2]:
        groups = study.values(hypothesis.measure, ["signals"])
        at_random = {
            name.removesuffix(f"_{AT_RANDOM}"): value
            for name, value in study.values(hypothesis.measure, [AT_RANDOM]).items()
        }
        shared = [name for name in groups if name in at_random]
        pairs = {
            "groups": {name: groups[name] for name in shared},
            "at_random": {name: at_random[name] for name in shared},
            "difference": {name: groups[name] - at_random[name] for name in shared},
        }
        rows[hypothesis.name] = {
            key: summarize(study.units(values).values())
            for key, values in pairs.items()
        }
    return rows


def compare_tuned(study):
    """Compare tuning by the refined penalized log loss with tuning by the log loss.

    Returns the gain in F1 and the log ratio of the losses of each data set, and their
    summaries: name -> (gain, ratio), {"f1": summary, "log_ratio": summary}.
    """
    measures = (
        way_gain(REFINED, BASELINE, "f1_macro", 100),
        log_ratio(REFINED, BASELINE),
    )
    found = [study.values(measure, [TUNED]) for measure in measures]
    values = {
        name.removesuffix(f"_{TUNED}"): tuple(own[name] for own in found)
        for name in found[0]
    }
    summaries = {
        key: summarize(
            study.units({name: own[k] for name, own in values.items()}).values()
        )
        for k, key in enumerate(("f1", "log_ratio"))
    }
    return values, summaries


def compare_calibration(study):
    """Return the expected calibration error of each way: way -> kind -> summary."""
    return {way: of_kinds(study, calibration_error(way), KINDS) for way in WAYS}


def compare_sizes(study):
    """Return what the size of the validation part changes, a dict for each size."""

    def within(measure, low, high):
        def own(record):
            is_in = low <= record["n_rows"]["validation"] <= high
            return measure(record) if is_in else math.nan

        return own

    return [
        {
            "size": label,
            "n_trainings": sum(
                low <= record["n_rows"]["validation"] <= high
                for record in study.trainings()
            ),
            "f1": study.summary(within(f1_gain(REFINED, BASELINE), low, high)),
            "log_ratio": study.summary(
                within(log_ratio("default", "former"), low, high)
            ),
        }
        for low, high, label in SIZES
    ]


def share_of_budget(way):
    """Return the measure: the part of the budget that a way trains, in per cent."""

    def measure(record):
        return 100 * get_way(record, way, "n_iter") / record["job"]["max_iter"]

    return measure


def compare_budgets(study):
    """Return the part of the budget of early stopping: way -> kind -> summary."""
    ways = ("default", "former")
    return {way: of_kinds(study, share_of_budget(way)) for way in ways}


def compare_seconds(study):
    """Return how long each way takes: way -> kind -> (mean seconds, times default).

    The ratio is the geometric mean over the units.
    """
    rows = defaultdict(dict)
    for way in ("default", *REFITS):
        for kind in KINDS:
            seconds = study.summary(lambda r, w=way: get_way(r, w, "seconds"), [kind])
            ratio = study.summary(log_ratio(way, "default", "seconds"), [kind])
            times = math.exp(ratio["difference"] / 100)
            rows[way][kind] = seconds["difference"], times
    return dict(rows)


def compare_refits(study):
    """Return the log ratios of both refits: pair -> kind -> summary."""
    pairs = (("all", "default"), ("folds", "default"), ("all", "folds"))
    return {pair: of_kinds(study, log_ratio(*pair), KINDS) for pair in pairs}


def choose_refit(study):
    """Return the refit that loses less in its worst kind, and what each loses there.

    What a refit loses in a kind is how much larger its log loss is than that of the
    other one, in log points.
    """
    ratios = [
        summary["difference"]
        for summary in of_kinds(study, log_ratio(*REFITS), KINDS).values()
        if summary["n"]
    ]
    lost = {
        refit: max((max(sign * ratio, 0.0) for ratio in ratios), default=math.nan)
        for refit, sign in zip(REFITS, (1, -1), strict=True)
    }
    return min(REFITS, key=lost.get), lost


def count_last_stages(study):
    """Return how often the best stage is the last: rule -> model -> (number, of)."""
    counts = {rule: defaultdict(lambda: [0, 0]) for rule in (BASELINE, REFINED)}
    for record in study.trainings():
        last = choose(record, LAST)
        for rule, of_models in counts.items():
            count = of_models[record["job"]["estimator"]]
            count[0] += last is not None and choose(record, rule) == last
            count[1] += 1
    return {
        rule: {model: tuple(count) for model, count in of_models.items()}
        for rule, of_models in counts.items()
    }


def difference_within(study, dataset, way, baseline):
    """Return the difference of two ways on a data set, and its standard error.

    Log loss, in nats. The models of a fold are judged on the same rows: their
    differences are averaged row by row. Rows and folds count as independent, even rows
    of one group, because the records do not hold the groups.
    """
    differences, variances = [], []
    for fold in study.folds:
        rows = []
        for model in study.models(dataset):
            record = study.find(dataset, model, fold)
            losses = {} if record is None else record["samples"]["log_loss"]
            if losses.get(way) is not None and losses.get(baseline) is not None:
                rows.append(np.subtract(losses[way], losses[baseline], dtype=float))
        if not rows:
            continue
        of_rows = np.mean(rows, axis=0)
        differences.append(float(of_rows.mean()))
        variances.append(float(of_rows.var(ddof=1)) / len(of_rows))
    if not differences:
        return math.nan, math.nan
    error = math.sqrt(math.fsum(variances)) / len(variances)
    return mean(differences), error


def count_within(study):
    """Return how many data sets show a difference of two ways by themselves.

    They do if the difference is more than twice its standard error: pair -> numbers of
    data sets (`n`), with a `lower` and with a `higher` loss.
    """
    counts = {}
    for pair in WITHIN:
        found = [difference_within(study, name, *pair) for name in study.sets()]
        found = [(value, error) for value, error in found if math.isfinite(value)]
        counts[pair] = {
            "n": len(found),
            "lower": sum(value < -2 * error for value, error in found),
            "higher": sum(value > 2 * error for value, error in found),
        }
    return counts


def policy_measures(rule, patience):
    """Return what a rule with a patience reaches, as measures.

    The part of the budget in per cent, F1 in points, and 100 times the logarithm of
    the log loss, with the temperature of the validation part if the rule is refined.
    """
    loss_name = "refined_log_loss" if rule.startswith("refined") else "log_loss"
    kept = {}  # what was replayed, by the identity of the record

    def keep(record):
        if id(record) not in kept:
            kept[id(record)] = replay(record, rule, patience)
        return kept[id(record)]

    def share(record):
        return 100 * keep(record)[1] / record["job"]["max_iter"]

    def f1(record):
        stage = keep(record)[0]
        return math.nan if stage is None else 100 * record["test"]["f1_macro"][stage]

    def log_loss(record):
        stage = keep(record)[0]
        if stage is None:
            return math.nan
        return 100 * math.log(raise_loss(record["test"][loss_name][stage]))

    return {"share": share, "f1": f1, "log_loss": log_loss}


def list_policies():
    """Return the last stage, and every rule with every patience."""
    return [(LAST, None), *((rule, p) for rule in RULES for p in PATIENCES)]


def compare_policies(study, kinds=KINDS, models=None):
    """Return what each policy trains and loses, a dict for each.

    `share` is the part of the budget; `f1_lost` the points of F1, and `loss_lost` the
    log points of log loss, that are lost to the best policy of all. Means over
    the units.
    """
    rows = []
    for rule, patience in list_policies():
        row = {"rule": rule, "patience": patience}
        for key, measure in policy_measures(rule, patience).items():
            row[key] = study.summary(measure, kinds, models=models)["difference"]
        rows.append(row)
    best_f1 = max((row["f1"] for row in rows), default=math.nan)
    least = min((row["log_loss"] for row in rows), default=math.nan)
    return [
        row | {"f1_lost": best_f1 - row["f1"], "loss_lost": row["log_loss"] - least}
        for row in rows
    ]


def count_diverged(study):
    """Return how many trainings have a stage without scores, and how many no other."""
    sound = [
        [stage is not None for stage in record["validation"]["log_loss"]]
        for record in study.trainings()
    ]
    return sum(not all(s) for s in sound), sum(not any(s) for s in sound)
