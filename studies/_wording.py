"""How numbers of planned studies are written."""

import math

from studies._page import interval, signed

DIGITS = {"points": 2, "log points": 1}


def show(row, digits=2):
    """Return a difference with its interval, if it has one.

    Examples
    --------
    >>> show({"difference": 1.0, "low": 0.5, "high": 1.5})
    '+1.00 (+0.50 to +1.50)'
    """
    if math.isnan(row["low"]):
        return signed(row["difference"], digits)
    between = interval(row["low"], row["high"], digits)
    return f"{signed(row['difference'], digits)} ({between})"


def level(row, digits=1):
    """Return a mean with its interval, without signs."""
    if math.isnan(row["difference"]):
        return "–"
    if math.isnan(row["low"]):
        return f"{row['difference']:.{digits}f}"
    low, high = (f"{row[key]:.{digits}f}".replace("-", "−") for key in ("low", "high"))
    return f"{row['difference']:.{digits}f} ({low} to {high})"


def percent(log_points):
    """Return a difference in log points as a percentage.

    Examples
    --------
    >>> round(percent(-12.8), 1)
    -12.0
    """
    return 100 * math.expm1(log_points / 100)


def show_p(p):
    """Return a p-value.

    Examples
    --------
    >>> show_p(0.0421), show_p(0.00003)
    ('0.042', 'below 0.001')
    """
    return "below 0.001" if p < 0.001 else f"{p:.3f}"


def count_rounds(study):
    """Say how many rounds count, of those in the plan."""
    n_planned = max(n for own in study.planned.values() for n in own.values())
    return f"{len(study.folds)} of {n_planned} rounds"


def judge(row):
    """Say whether an interval includes 0.

    Examples
    --------
    >>> judge({"low": -2.0, "high": -1.0}), judge({"low": -2.0, "high": 1.0})
    ('clear', 'not clear')
    """
    return "clear" if row["low"] > 0 or row["high"] < 0 else "not clear"


def say_results(results, hypotheses, changes, margin):
    """Say in a sentence each what came out; `changes` are how sentences begin."""
    return [
        _say_result(result, hypothesis, changes[hypothesis.name], margin)
        for result, hypothesis in zip(results, hypotheses, strict=True)
    ]


def _say_result(result, hypothesis, change, margin):
    name, unit = result["name"], hypothesis.unit
    if not result["n"]:
        return f"{name} was not tested: no data set is complete."
    digits = DIGITS[unit]
    numbers = [interval(result["low"], result["high"], digits)]
    if "nats" in result:
        numbers.append(f"{signed(percent(result['difference']), 1)} %")
        numbers.append(f"{signed(result['nats']['difference'], 3)} nats")
    numbers += [f"{result['n']} units", f"adjusted p {show_p(result['p_adjusted'])}"]
    verdict = "holds" if result["holds"] else "does not hold"
    return (
        f"{name} {verdict}: {change} {signed(result['difference'], digits)} "
        f"{unit} ({'; '.join(numbers)}){_say_end(result, hypothesis.expected, margin)}."
    )


def _say_end(result, expected, margin):
    """Say how to read the difference, where that is not obvious."""
    low, high, holds = result["low"], result["high"], result["holds"]
    if expected == "within":
        if holds:
            return f", less than the margin of {margin}"
        if low > margin or high < -margin:
            return f", more than the margin of {margin}"
        return f"; whether that is less than the margin of {margin} remains open"
    if expected == "not below":
        if holds:
            return f", not more than {margin} worse"
        if high < -margin:
            return f", more than {margin} worse"
        return f"; whether it is more than {margin} worse remains open"
    if holds:
        return ""
    if (expected == "above" and high < 0) or (expected == "below" and low > 0):
        return ", the opposite of what was expected"
    return "; whether there is a difference remains open"


def list_results(results, hypotheses):
    """Return the header and the lines of the table of tests."""
    units = {hypothesis.name: hypothesis.unit for hypothesis in hypotheses}
    lines = [
        [
            result["name"],
            str(result["n"]),
            f"{signed(result['difference'], DIGITS[unit])} {unit}",
            interval(result["low"], result["high"], DIGITS[unit]),
            f"{result['n_up']} / {result['n_down']}",
            f"{result['p']:.2g}",
            f"{result['p_adjusted']:.2g}",
            "yes" if result["holds"] else "no",
        ]
        for result in results
        for unit in [units[result["name"]]]
    ]
    header = [
        "hypothesis",
        "units",
        "difference",
        "95 % interval",
        "higher / lower",
        "p",
        "adjusted p",
        "holds",
    ]
    return header, lines
