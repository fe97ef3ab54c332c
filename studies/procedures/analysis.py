"""From the records of the comparison of procedures to its five results.

This fixes which records count and how they are tested. It was written before the first
training, and tried on synthetic records with a known answer.
"""

from studies._evidence import KINDS, Hypothesis, Study, judge_hypotheses
from studies._measures import f1_gain, log_ratio, way_gain

BASELINE = "log_loss"
REFINED = "refined_penalized_log_loss"
RULES = (
    "log_loss",
    "refined_log_loss",
    "penalized_log_loss",
    REFINED,
    "brier",
    "penalized_brier",
    "accuracy",
    "f1_macro",
)
AT_RANDOM = "at_random"
TUNED = "tuned"  # with settings to choose from; without trajectories


def has_one_class(record):
    """Return whether all test rows of a training are of one class."""
    return len(set(record["samples"]["true"])) == 1


HYPOTHESES = (
    Hypothesis("H1", f1_gain(REFINED, BASELINE), ("signals",), "above", "points"),
    Hypothesis(
        "H2", f1_gain("penalized_brier", "brier"), ("signals",), "above", "points"
    ),
    Hypothesis(
        "H3",
        log_ratio("default", "former"),
        KINDS,
        "below",
        "log points",
        way_gain("default", "former"),
    ),
    Hypothesis("H4", f1_gain(REFINED, BASELINE), ("tables",), "within", "points"),
    Hypothesis(
        "H5",
        log_ratio("all", "default"),
        KINDS,
        "below",
        "log points",
        way_gain("all", "default"),
    ),
)


def five_results(plan, records, is_out=None):
    """Test the five hypotheses; return a dict for each.

    `is_out` takes a record and says whether to leave it out. The plan leaves none out.
    """
    study = records if isinstance(records, Study) else Study(plan, records)
    return judge_hypotheses(HYPOTHESES, study, plan["margin"], is_out)
