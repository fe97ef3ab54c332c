"""Reads arrays and tables of any library as NumPy arrays.

Nullable and Arrow columns of pandas, polars, pyarrow, masked arrays, categories and
objects keep their dtype, and integers stay exact. Missing values raise an error.
"""

import sys
from itertools import accumulate
from numbers import Real

import numpy as np
from scipy.sparse import issparse, vstack

from sklearn_superior.utils._sklearn_compat import count_rows

__all__ = ["read_array", "read_numbers", "stack_rows"]


def stack_rows(parts):
    """Stack tables of the same kind; return the result and where each part ends.

    Parameters
    ----------
    parts : dict of str to array-like
        Arrays, sparse matrices, data frames or lists.

    Returns
    -------
    whole : array-like or None
        None if there is no part.

    ends : dict of str to int
        The index of the row after the last one of each part.

    Examples
    --------
    >>> from sklearn_superior.utils._arrays import stack_rows
    >>> stack_rows({"a": [1, 2], "b": [3]})
    ([1, 2, 3], {'a': 2, 'b': 3})
    """
    tables = list(parts.values())
    ends = dict(zip(parts, accumulate(map(count_rows, tables)), strict=True))
    first = tables[0] if tables else None
    if len(tables) < 2:
        return first, ends
    if issparse(first):
        return vstack(tables, format="csr"), ends
    if isinstance(first, list):
        return [row for table in tables for row in table], ends
    library = type(first).__module__.partition(".")[0]
    if library in ("pandas", "polars"):
        return sys.modules[library].concat(tables), ends
    return np.concatenate(tables), ends


def read_array(values, name):
    """Read anything array-like as a NumPy array of its own dtype.

    Parameters
    ----------
    values : array-like
        A NumPy or masked array, a list, a series or data frame of pandas or polars, an
        array or table of pyarrow, or whatever else NumPy reads.

    name : str
        The name of the caller's parameter, for messages.

    Returns
    -------
    array : ndarray
        Columns of different dtypes are joined in the smallest dtype that holds them all
        exactly: objects, if no other does. Masked values and missing values of nullable
        columns raise a ValueError. NaN among floats and None among objects are ordinary
        values.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_superior.utils._arrays import read_array
    >>> read_array(np.ma.MaskedArray([1, 2], dtype=np.int8), "X")
    array([1, 2], dtype=int8)
    """
    if type(values) is np.ndarray:
        return values
    if issparse(values):
        raise TypeError(f"{name} must be dense. Got a sparse {type(values).__name__}.")
    if values is None or isinstance(values, str | bytes | dict | set):
        raise TypeError(f"{name} must be array-like. Got {values!r} instead.")
    try:
        array = _read(values)
    except (ValueError, TypeError, RuntimeError) as exc:
        raise ValueError(f"{name} cannot be read as an array: {exc}") from exc
    if array is None:
        if isinstance(values, np.ma.MaskedArray):
            raise ValueError(f"{name} must not have masked values.")
        raise ValueError(f"{name} must not contain missing values.")
    if array.ndim == 0 and array.dtype.kind == "O":  # a generator, a lazy frame
        raise TypeError(f"{name} must be array-like. Got a {type(values).__name__}.")
    if isinstance(values, list | tuple) and array.dtype.kind == "U":
        for value in values:  # NumPy would turn numbers into text
            if isinstance(value, Real):
                raise TypeError(
                    f"{name} must hold labels of one type. Got {value!r} beside text."
                )
    return array


def read_numbers(values, name):
    """Read anything array-like as a NumPy array of real numbers.

    Numbers that are held as objects (integers of any size, decimals, fractions) become
    64-bit integers if all are integers of that range, else float64; None becomes NaN.
    The parameters are those of `read_array`.

    Examples
    --------
    >>> from decimal import Decimal
    >>> from sklearn_superior.utils._arrays import read_numbers
    >>> read_numbers([Decimal("0.5"), 1], "X")
    array([0.5, 1. ])
    """
    array = read_array(values, name)
    if array.dtype.kind == "O":
        array = _from_objects(array, name)
    if array.dtype.kind not in "fiub":
        raise TypeError(f"{name} must hold real numbers. Got dtype {array.dtype}.")
    return array


def _from_objects(array, name):
    """Return numbers that are held as objects: integers if all are, else floats."""
    try:
        if not all(isinstance(value, int | np.integer) for value in array.flat):
            return array.astype(np.float64)
        exact = np.array([int(value) for value in array.flat]).reshape(array.shape)
        return exact if exact.dtype.kind in "iu" else exact.astype(np.float64)
    except (TypeError, ValueError) as exc:
        raise TypeError(f"{name} must hold numbers: {exc}") from exc


def _read(values):
    """Return an array, or None if values are missing."""
    if isinstance(values, np.ma.MaskedArray):
        return None if np.ma.is_masked(values) else values.data
    columns = None
    if hasattr(values, "iloc") and hasattr(values, "columns"):
        dtypes = set(values.dtypes)
        # NumPy reads a single block without a copy.
        if len(dtypes) != 1 or not isinstance(next(iter(dtypes)), np.dtype):
            columns = [values.iloc[:, k] for k in range(values.shape[1])]
    elif hasattr(values, "get_columns"):  # polars
        columns = values.get_columns()
    elif hasattr(values, "column_names") and hasattr(values, "columns"):  # pyarrow
        columns = values.columns
    if columns is not None:
        return _join([_read(column) for column in columns], len(values))
    if hasattr(values, "isna") and hasattr(values, "dtype"):
        return _read_pandas(values)
    if hasattr(values, "fill_null") and hasattr(values, "is_null"):
        return _read_arrow(values)
    if getattr(values, "requires_grad", False):  # a torch tensor
        values = values.detach()
    return np.asarray(values)


def _read_arrow(column):
    """Read a polars series or a pyarrow array; None if values are missing."""
    if callable(column.null_count):
        return None if column.null_count() else column.to_numpy()
    return None if column.null_count else column.to_numpy(zero_copy_only=False)


def _read_pandas(column):
    """Read a series, index or array of pandas; None if values are missing."""
    dtype = column.dtype
    if isinstance(dtype, np.dtype):
        return np.asarray(column)
    if np.any(column.isna()):
        return None
    if hasattr(dtype, "categories"):
        holder = column.cat if hasattr(column, "cat") else column
        return _read(holder.categories)[np.asarray(holder.codes)]
    own = getattr(dtype, "numpy_dtype", None)
    if own is None or own.kind not in "biuf":  # text, dates: as pandas returns them
        return np.asarray(column)
    return column.to_numpy(dtype=own)


def _join(arrays, n_rows):
    """Join columns in a dtype that holds all of them exactly; None if one is None."""
    if not arrays:
        return np.empty((n_rows, 0))
    if any(array is None for array in arrays):
        return None
    kinds = {array.dtype.kind for array in arrays}
    dtype = np.dtype(object)
    if kinds <= set("biuf"):
        dtype = np.result_type(*arrays)
        if kinds <= set("iu") and dtype.kind == "f":  # int64 beside uint64
            dtype = np.dtype(object)
    elif len({array.dtype for array in arrays}) == 1:
        dtype = arrays[0].dtype
    table = np.empty((n_rows, len(arrays)), dtype=dtype, order="F")
    for k, column in enumerate(arrays):
        table[:, k] = column
    return table
