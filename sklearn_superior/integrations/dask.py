"""The losses for data in blocks, on one machine or many, through Dask.

Every block of rows is reduced to a few sums on its worker, and these are merged.
"""

import inspect
from functools import reduce
from math import isnan
from operator import add

import numpy as np

import sklearn_superior.metrics
from sklearn_superior.metrics._kernel import (
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

# The parameters are documented as those of the loss of data in memory.
_DOC = """{title} of Dask arrays and data frames; lower is better.

    `y_true`, `y_proba` and `sample_weight` are Dask arrays, series or data frames;
    labels and weights may also be in memory.

    Parameters
    ----------{parameters}
    Returns
    -------
    loss : dask array of shape ()
        The weighted mean of the losses of the samples. It is lazy: nothing is computed
        until ``loss.compute()`` or ``float(loss)``. Then every block of rows is read
        once, and only a few sums are transferred.

    See Also
    --------
    sklearn_superior.metrics.{name} : The same loss for data in memory.

    Notes
    -----
    `y_true` and `sample_weight` are rechunked to the blocks of `y_proba`. Blocks may be
    empty. If the block sizes are unknown, as in data frames, all inputs must have the
    same number of blocks with the same numbers of rows. This is checked when the loss
    is computed. Without `labels`, a block that lacks classes is scored once more for
    each of them: pass `labels` if many blocks lack some.

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


def _make_loss(rule):
    """Return the public function of a row of the table of rules."""
    in_memory = getattr(sklearn_superior.metrics, rule.loss_name)
    signature = inspect.signature(in_memory)

    def loss(*args, **kwargs):
        inputs = signature.bind(*args, **kwargs)
        return _lazy_mean_loss(rule, *inputs.args, **inputs.kwargs)

    loss.__name__ = loss.__qualname__ = rule.loss_name
    _, _, parameters = (in_memory.__doc__ or "").partition("Parameters\n    ----------")
    loss.__doc__ = _DOC.format(
        title=rule.title[0].upper() + rule.title[1:],
        name=rule.loss_name,
        parameters=parameters.partition("    Returns\n")[0],
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
    """Return a Dask array of the weighted mean of the losses, or of their sum."""
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
        labels = _check_classes(check_labels(labels), labels, shape, pos_label)
    common = {"rule": rule.name, "pos_label": pos_label, "options": options}
    parts = da.blockwise(
        _reduce_block,
        "i",
        *arrays,
        labels=labels,
        adjust_chunks={"i": lambda n_rows: 1},
        align_arrays=False,
        concatenate=True,  # blocks of columns
        meta=np.empty(0, dtype=object),
        **common,
    )
    return da.blockwise(
        _merge_blocks,
        "",
        parts,
        "i",
        shape=shape,
        names=names,
        concatenate=True,
        meta=np.empty((), dtype=np.float64),
        **common,
    )


def _as_dask_array(values, name):
    import dask
    import dask.array as da
    from dask.delayed import Delayed  # it pretends to have every attribute

    if hasattr(values, "to_dask_array") and not isinstance(values, Delayed):
        # Dask would merge small partitions, but not in the same way for all columns.
        with dask.config.set({"optimization.tune.active": False}):
            # The dtype of each partition is found when it is read.
            shape = (0, len(values.columns)) if values.ndim == 2 else 0
            meta = np.empty(shape, dtype=object)
            values = values.map_partitions(read_array, name, meta=meta)
    if not isinstance(values, da.Array):
        raise TypeError(
            f"{name} must be a dask array, series or data frame. Got a "
            f"{type(values).__name__}. For data in memory use sklearn_superior.metrics."
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
    """Return `values` with the rows in the same blocks as those of `y_proba`."""
    import dask.array as da

    n_rows, rows = y_proba.shape[0], y_proba.chunks[0]
    if not (hasattr(values, "to_dask_array") or isinstance(values, da.Array)):
        values = da.from_array(read_array(values, name), chunks=-1)
    values = _as_dask_array(values, name)
    if isnan(n_rows) or isnan(values.shape[0]):
        if len(rows) != len(values.chunks[0]):
            raise ValueError(
                f"{name} and y_proba must have the same number of blocks of rows "
                "unless the sizes of the blocks are known. Got "
                f"{len(values.chunks[0])} and {len(rows)}. {_HOW_TO_KNOW_SIZES}"
            )
        return values
    if values.shape[0] != n_rows:
        raise ValueError(
            f"{name} and y_proba must have the same number of rows. "
            f"Got {values.shape[0]} and {n_rows}."
        )
    return values.rechunk({0: rows})


def _check_classes(classes, labels, shape, pos_label):
    """Return all classes, sorted, or raise an error if `y_proba` does not fit them."""
    # The check of the losses, on a forecast of one row for each class.
    y_proba = np.full((len(classes), *shape[1:]), 0.5)
    return check_forecast(classes, y_proba, labels=labels, pos_label=pos_label).classes


def _reduce_block(
    y_true, y_proba, sample_weight=None, *, rule, labels, pos_label, options
):
    """Return what is left of a block, as an array of one object; None without rows.

    That is its classes, the `LossSums`, and None if all classes occur or are known.
    Otherwise their columns are not known yet. Instead of None there is an array then:
    ``losses[shift, rank]`` is the sum of the losses of the class ``classes[rank]`` if
    `shift` smaller classes turn out to be missing from the block.
    """
    sizes = {"y_true": y_true, "y_proba": y_proba, "sample_weight": sample_weight}
    sizes = {name: len(array) for name, array in sizes.items() if array is not None}
    if len(set(sizes.values())) > 1:
        raise ValueError(
            "Blocks that belong together must have the same number of rows. "
            f"Got {sizes}. {_HOW_TO_KNOW_SIZES}"
        )
    part = np.empty(1, dtype=object)
    if len(y_true) == 0:
        return part
    loss = check_options(RULES[rule], **options)
    y_true, y_proba = read_array(y_true, "y_true"), read_array(y_proba, "y_proba")
    n_classes = y_proba.shape[1] if y_proba.ndim == 2 else 2
    classes, inputs = labels, {"sample_weight": sample_weight}
    if labels is None and y_true.ndim == 2:
        classes = np.arange(n_classes)
    elif labels is None:
        classes = unique_labels(y_true, "y_true")
    if len(classes) >= n_classes:  # too many are an error of `check_forecast`
        inputs |= {"labels": labels, "pos_label": pos_label}
        sums = sum_losses(check_forecast(y_true, y_proba, **inputs), [loss])
        part[0] = classes, sums, None
        return part
    index = encode_labels(y_true, classes)
    block = check_forecast(index, y_proba, labels=np.arange(n_classes), **inputs)
    losses, all_sums = np.empty((n_classes - len(classes) + 1, len(classes))), []
    for rank, label in enumerate(classes.tolist()):
        rows = block.take(index == rank)
        for shift in range(len(losses)):
            column = rank + shift
            rows.y_index = np.full(rows.n_samples, column)
            if pos_label is not None and y_proba.ndim == 1:
                rows.positive = column if label == pos_label else 1 - column
            sums = sum_losses(rows, [loss])
            losses[shift, rank] = sums.loss
        all_sums.append(sums)
    part[0] = classes, reduce(add, all_sums), losses
    return part


def _merge_blocks(parts, *, rule, shape, pos_label, options, names):
    parts = [part for part in parts if part is not None]
    if not parts:
        raise ValueError("y_proba must have at least one row. Got none.")
    classes = unique_labels(np.concatenate([part[0] for part in parts]), "y_true")
    classes = _check_classes(classes, None, shape, pos_label)
    if names is not None:
        warn_of_column_order(names, classes.tolist())
    total = 0.0
    for own, sums, losses in parts:
        if losses is None:
            total += sums.loss
        else:
            rank = np.arange(len(own))
            total += losses[np.searchsorted(classes, own) - rank, rank].sum()
    sums = reduce(add, [sums for _, sums, _ in parts])
    sums.check()
    loss = check_options(RULES[rule], **options)
    return np.float64(loss.finish(total, sums.weight))
