"""The losses of data that lies in blocks, on one machine or many, through Dask.

Every block of rows is reduced to a few sums where it lies, and these are merged.
"""

import inspect
from dataclasses import dataclass
from functools import reduce
from math import isnan
from operator import add

import numpy as np

import sklearn_superior.metrics
from sklearn_superior.metrics._kernel import (
    LossSums,
    check_forecast,
    check_labels,
    check_options,
    encode_labels,
    sum_losses,
    unique_labels,
    warn_of_column_order,
)
from sklearn_superior.metrics._rules import RULES
from sklearn_superior.utils._arrays import read_array
from sklearn_superior.utils._optional import import_optional

_HOW_TO_KNOW_SIZES = (
    "Divide the data alike, or pass arrays of known sizes: "
    "array.compute_chunk_sizes(), frame.to_dask_array().compute_chunk_sizes()."
)

_DOC = """{summary} of Dask arrays and data frames; lower is better.

    Parameters
    ----------
    y_true : dask array, series or data frame, or array-like
        True labels of shape (n_samples,), or one-hot of shape (n_samples, n_classes).

    y_proba : dask array, series or data frame
        Predicted probabilities of shape (n_samples, n_classes), with the columns in
        the order of the sorted labels, whatever their names are in a data frame; or
        of shape (n_samples,) or (n_samples, 1) for the class `pos_label` of two.

    sample_weight : dask array or series, or array-like, default=None
        Sample weights.

    labels : array-like of shape (n_classes,), default=None
        All class labels. If None, they are the labels in `y_true`. Then a block that
        lacks classes is scored once more for each of them: pass `labels` if many
        blocks lack some.

    pos_label : int, float, bool or str, default=None
        The class of a single column of `y_proba`. If None, the greater label.

    penalty : {{"paper", "minimal"}} or float, default="paper"
        Added to the loss of every wrong prediction; 0 is the loss without a penalty.

    ties : {{"first", "split", "correct"}}, default="first"
        What counts as wrong when several classes share the highest probability.

    {option}

    Returns
    -------
    loss : dask array of shape ()
        The weighted mean{or_sum} of the losses of the samples. It is lazy:
        nothing is computed until ``loss.compute()`` or ``float(loss)``. Then every
        block of rows is read once, and only a few sums are transferred.

    See Also
    --------
    sklearn_superior.metrics.{name} : The same loss of data in memory, with
        the formula and more about the options.

    Notes
    -----
    `y_true` and `sample_weight` are divided into blocks as `y_proba` is. Blocks may be
    empty. Where the sizes of blocks are not known, as in data frames, all must have as
    many blocks, with as many rows in each; this is checked when the loss is computed.

    Examples
    --------
    >>> import dask.array as da
    >>> import sklearn_superior.metrics
    >>> from sklearn_superior.integrations.dask import {name}
    >>> y_true = da.from_array([1, 1], chunks=1)
    >>> y_proba = da.from_array([[0.33, 0.34, 0.33], [0.51, 0.49, 0.00]], chunks=(1, 3))
    >>> loss = {name}(y_true, y_proba, labels=[0, 1, 2])
    >>> in_memory = sklearn_superior.metrics.{name}(
    ...     y_true.compute(), y_proba.compute(), labels=[0, 1, 2]
    ... )
    >>> abs(float(loss) - in_memory) < 1e-12
    True
    """

_OPTIONS = {
    "scale": """scale : {type}, default="sum"
        Factor of the whole loss, penalty included, see the loss of data in memory.""",
    "normalize": """normalize : bool, default=True
        Return the weighted mean if True, else the weighted sum.""",
}


def _make_loss(rule):
    """Return the public function of a row of the table of rules."""
    signature = inspect.signature(getattr(sklearn_superior.metrics, rule.loss_name))

    def loss(*args, **kwargs):
        unknown = sorted(kwargs.keys() - set(signature.parameters))
        if unknown:
            raise TypeError(
                f"{rule.loss_name} has the options {list(rule.options)}. Got {unknown}."
            )
        inputs = signature.bind(*args, **kwargs)
        return _lazy_mean_loss(rule, *inputs.args, **inputs.kwargs)

    option = rule.options[-1]
    loss.__name__ = loss.__qualname__ = rule.loss_name
    loss.__doc__ = _DOC.format(
        summary=rule.title[0].upper() + rule.title[1:],
        name=rule.loss_name,
        option=_OPTIONS[option].format(type=rule.scale_type),
        or_sum=" or sum" if option == "normalize" else "",
    )
    loss.__signature__ = signature
    return loss


# The public functions: one for each row of the table of rules.
_LOSSES = {rule.loss_name: _make_loss(rule) for rule in RULES.values()}
globals().update(_LOSSES)
__all__ = list(_LOSSES)


def _lazy_mean_loss(
    rule,
    y_true,
    y_proba,
    *,
    sample_weight=None,
    labels=None,
    pos_label=None,
    **options,
):
    """Dask array of the weighted mean of the losses, or of their sum."""
    import_optional("dask.array", caller=f"dask.{rule.loss_name}", extra="dask")
    import dask.array as da

    check_options(rule, **options)
    given, y_proba = y_proba, _as_dask_array(y_proba, "y_proba")
    is_frame = hasattr(given, "to_dask_array") and y_proba.ndim == 2
    names = list(given.columns) if is_frame else None
    y_true = _in_same_blocks(y_true, "y_true", y_proba)
    arrays = [y_true, "ik"[: y_true.ndim], y_proba, "ij"[: y_proba.ndim]]
    if sample_weight is not None:
        sample_weight = _in_same_blocks(sample_weight, "sample_weight", y_proba)
        if sample_weight.ndim != 1:
            raise ValueError(
                f"sample_weight must have one axis. Got {sample_weight.ndim}."
            )
        arrays += [sample_weight, "i"]
    shape = y_proba.shape
    if labels is not None:
        labels = read_array(labels, "labels")
        labels = _classes_that_fit(check_labels(labels), labels, shape, pos_label)

    parts = da.blockwise(
        _reduced,
        "i",
        *arrays,
        rule=rule.name,
        labels=labels,
        pos_label=pos_label,
        options=options,
        adjust_chunks={"i": lambda n_rows: 1},
        align_arrays=False,
        concatenate=True,  # blocks of columns
        meta=np.empty(0, dtype=object),
    )
    return da.blockwise(
        _merged,
        "",
        parts,
        "i",
        rule=rule.name,
        shape=shape,
        pos_label=pos_label,
        options=options,
        names=names,
        concatenate=True,
        meta=np.empty((), dtype=np.float64),
    )


def _as_dask_array(values, name):
    import dask
    import dask.array as da
    from dask.delayed import Delayed  # it pretends to have every attribute

    if hasattr(values, "to_dask_array") and not isinstance(values, Delayed):
        # Dask would merge small partitions, and not alike in all columns.
        with dask.config.set({"optimization.tune.active": False}):
            # The dtype of each partition is found when it is read.
            shape = (0, len(values.columns)) if values.ndim == 2 else 0
            meta = np.empty(shape, dtype=object)
            values = values.map_partitions(read_array, name, meta=meta)
    if not isinstance(values, da.Array):
        remedy = (
            " The losses in sklearn_superior.metrics are for data in memory."
            if hasattr(values, "__array__") or isinstance(values, list)
            else ""
        )
        raise TypeError(
            f"{name} must be a dask array, series or data frame. "
            f"Got a {type(values).__name__}.{remedy}"
        )
    if values.ndim not in (1, 2):
        raise ValueError(f"{name} must have one or two axes. Got {values.ndim}.")
    if values.ndim == 2 and isnan(values.shape[1]):
        raise ValueError(
            f"{name} must have a known number of columns. Call its compute_chunk_sizes "
            "first."
        )
    return values[:, 0] if values.shape[1:] == (1,) else values


def _in_same_blocks(values, name, y_proba):
    """`values` with the rows in the same blocks as those of `y_proba`."""
    import dask.array as da

    n_rows, rows = y_proba.shape[0], y_proba.chunks[0]
    if not (hasattr(values, "to_dask_array") or isinstance(values, da.Array)):
        values = da.from_array(read_array(values, name), chunks=-1)
    values = _as_dask_array(values, name)
    if isnan(n_rows) or isnan(values.shape[0]):
        if len(rows) != len(values.chunks[0]):
            raise ValueError(
                f"{name} and y_proba must have the same number of blocks of rows, "
                "because the sizes of blocks are not known. Got "
                f"{len(values.chunks[0])} and {len(rows)}. {_HOW_TO_KNOW_SIZES}"
            )
        return values
    if values.shape[0] != n_rows:
        raise ValueError(
            f"{name} and y_proba must have the same number of rows. "
            f"Got {values.shape[0]} and {n_rows}."
        )
    return values.rechunk({0: rows})


def _classes_that_fit(classes, labels, shape, pos_label):
    """Return all classes, sorted, or raise an error if `y_proba` has another shape."""
    # The check of the losses, on a forecast of one row for each class.
    y_proba = np.full((len(classes), *shape[1:]), 0.5)
    return check_forecast(classes, y_proba, labels=labels, pos_label=pos_label).classes


@dataclass
class _Part:
    """What is left of a block of rows.

    ``losses[shift, rank]`` is the sum of the losses of the class ``classes[rank]``,
    should it turn out that `shift` lesser classes do not occur in the block. If all
    classes occur or are known, there is one row, of which only the sum matters. All
    but the loss of `sums` does not depend on the classes.
    """

    classes: np.ndarray
    losses: np.ndarray
    sums: LossSums

    def total(self, all_classes):
        """Sum of the losses, now that all classes are known."""
        rank = np.arange(len(self.classes))
        shift = np.searchsorted(all_classes, self.classes) - rank
        return self.losses[shift, rank].sum()


def _reduced(y_true, y_proba, sample_weight=None, *, rule, labels, pos_label, options):
    """Array of the one `_Part` of a block, or of None if the block has no rows."""
    sizes = {"y_true": y_true, "y_proba": y_proba, "sample_weight": sample_weight}
    sizes = {name: len(array) for name, array in sizes.items() if array is not None}
    if len(set(sizes.values())) > 1:
        raise ValueError(
            "Blocks that belong together must have the same number of rows. "
            f"Got {sizes}. {_HOW_TO_KNOW_SIZES}"
        )
    part = np.empty(1, dtype=object)
    if len(y_true):
        part[0] = _part(
            check_options(RULES[rule], **options),
            read_array(y_true, "y_true"),
            read_array(y_proba, "y_proba"),
            sample_weight,
            labels,
            pos_label,
        )
    return part


def _part(loss, y_true, y_proba, sample_weight, labels, pos_label):
    n_classes = y_proba.shape[1] if y_proba.ndim == 2 else 2
    if y_true.ndim == 2 and labels is None:
        classes = np.arange(n_classes)
    else:
        classes = unique_labels(y_true, "y_true") if labels is None else labels

    def sums_of(y_true, y_proba, sample_weight, labels, pos_label):
        inputs = {"sample_weight": sample_weight, "labels": labels}
        forecast = check_forecast(y_true, y_proba, pos_label=pos_label, **inputs)
        return sum_losses(forecast, [loss])

    n_missing = n_classes - len(classes)
    if n_missing <= 0:  # too many are an error of `check_forecast`
        sums = sums_of(y_true, y_proba, sample_weight, labels, pos_label)
        losses = np.zeros((1, len(classes)))
        losses[0, 0] = sums.loss
        return _Part(classes, losses, sums)

    losses = np.empty((n_missing + 1, len(classes)))
    index = encode_labels(y_true, classes)
    parts = []
    for rank, label in enumerate(classes):
        rows = np.flatnonzero(index == rank)
        weight = None if sample_weight is None else sample_weight[rows]
        for shift in range(n_missing + 1):
            column = rank + shift
            positive = None
            if pos_label is not None and y_proba.ndim == 1:
                positive = column if label == pos_label else 1 - column
            y_column = np.full(len(rows), column)
            all_columns = np.arange(n_classes)
            sums = sums_of(y_column, y_proba[rows], weight, all_columns, positive)
            losses[shift, rank] = sums.loss
        parts.append(sums)
    return _Part(classes, losses, reduce(add, parts))


def _merged(parts, *, rule, shape, pos_label, options, names):
    parts = [part for part in parts if part is not None]
    if not parts:
        raise ValueError("y_proba must have at least one row. Got none.")
    classes = unique_labels(np.concatenate([part.classes for part in parts]), "y_true")
    classes = _classes_that_fit(classes, None, shape, pos_label)
    if names is not None:
        warn_of_column_order(names, classes.tolist())
    sums = reduce(add, [part.sums for part in parts])
    total = sum(part.total(classes) for part in parts)
    sums.check()
    return np.float64(check_options(RULES[rule], **options).finish(total, sums.weight))
