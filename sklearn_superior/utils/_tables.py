"""The one reader of arrays and tables: every kind of column as a NumPy array.

Nullable and Arrow columns of pandas, polars, pyarrow, masked arrays, categories and
objects keep their dtype, integers stay exact, and what is missing stays missing: it is
an error, a NaN or a mask, as the caller asks.
"""

from numbers import Real

import numpy as np
from scipy.sparse import issparse

__all__ = ["read_array", "read_numbers"]


def read_array(values, name, *, missing="raise"):
    """Read anything array-like as a NumPy array of its own dtype.

    Parameters
    ----------
    values : array-like
        A NumPy or masked array, a list, a series or data frame of pandas or polars, an
        array or table of pyarrow, or whatever else NumPy reads.

    name : str
        What the caller's parameter is called.

    missing : {"raise", "mask", "nan"}, default="raise"
        What becomes of masked values and of those that a nullable column lacks:
        ``"raise"`` is a ValueError, ``"mask"`` returns a masked array if there are any,
        ``"nan"`` returns floats with NaN, or a ValueError where that is not exact.
        NaN in a column of floats, and None among objects, are values like any other.

    Returns
    -------
    array : ndarray
        Columns of different dtypes have the least dtype that holds them all exactly:
        objects, if no other does.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_superior.utils._tables import read_array
    >>> masked = np.ma.masked_equal(np.array([1, 2, 3], dtype=np.float32), 2)
    >>> read_array(masked, "X", missing="nan")
    array([ 1., nan,  3.], dtype=float32)
    """
    if type(values) is np.ndarray:
        return values
    if issparse(values):
        raise TypeError(f"{name} must be dense. Got a sparse {type(values).__name__}.")
    if values is None or isinstance(values, str | bytes | dict | set):
        raise TypeError(f"{name} must be array-like. Got {values!r} instead.")
    try:
        array, mask = _read(values)
    except (ValueError, TypeError, RuntimeError) as exc:
        raise ValueError(f"{name} cannot be read as an array: {exc}") from exc
    if array.ndim == 0 and array.dtype.kind == "O":  # a generator, a lazy frame
        raise TypeError(f"{name} must be array-like. Got a {type(values).__name__}.")
    if isinstance(values, list | tuple) and array.dtype.kind == "U":
        for value in values:  # which NumPy turns into text
            if isinstance(value, Real):
                raise TypeError(
                    f"{name} must hold labels of one type. Got {value!r} beside text."
                )
    if mask is None or not mask.any():
        return array
    if missing == "mask":
        return np.ma.MaskedArray(array, mask)
    if missing == "nan":
        return _with_nan(array, mask, name)
    if isinstance(values, np.ma.MaskedArray):
        raise ValueError(f"{name} must not have masked values.")
    raise ValueError(f"{name} must not contain missing values.")


def read_numbers(values, name, *, missing="raise"):
    """Read anything array-like as a NumPy array of real numbers.

    Numbers that are held as objects (integers of any size, decimals, fractions) become
    64-bit integers if all are integers of that range, else float64. The parameters are
    those of `read_array`; None among objects becomes NaN.

    Examples
    --------
    >>> from decimal import Decimal
    >>> from sklearn_superior.utils._tables import read_numbers
    >>> read_numbers([Decimal("0.5"), 1], "X")
    array([0.5, 1. ])
    """
    array = read_array(values, name, missing=missing)
    if array.dtype.kind == "O":
        array = _from_objects(array, name)
    if array.dtype.kind not in "fiub":
        raise TypeError(f"{name} must hold real numbers. Got dtype {array.dtype}.")
    return array


def _from_objects(array, name):
    data = array.filled(0) if isinstance(array, np.ma.MaskedArray) else array
    try:
        data = data.astype(np.float64) if not _are_integers(data) else _exact(data)
    except (TypeError, ValueError) as exc:
        raise TypeError(f"{name} must hold numbers: {exc}") from exc
    if isinstance(array, np.ma.MaskedArray):
        return np.ma.MaskedArray(data, array.mask)
    return data


def _are_integers(objects):
    return all(isinstance(value, int | np.integer) for value in objects.flat)


def _exact(objects):
    """Array of Python integers: 64-bit integers if they fit, else float64."""
    array = np.array([int(value) for value in objects.flat]).reshape(objects.shape)
    return array if array.dtype.kind in "iu" else array.astype(np.float64)


def _read(values):
    """Return an array and the mask of what is missing, or None if nothing can be."""
    if isinstance(values, np.ma.MaskedArray):
        return values.data, np.ma.getmaskarray(values)
    columns = _columns(values)
    if columns is not None:
        return _join([_read_column(column) for column in columns], len(values))
    if _is_column(values):
        return _read_column(values)
    if getattr(values, "requires_grad", False):  # a tensor of torch
        values = values.detach()
    return np.asarray(values), None


def _columns(values):
    """Columns of a data frame or table; None if `values` is neither."""
    if hasattr(values, "iloc") and hasattr(values, "columns"):  # pandas
        dtypes = set(values.dtypes)
        if len(dtypes) == 1 and isinstance(next(iter(dtypes)), np.dtype):
            return None  # a single block, which NumPy reads without a copy
        return [values.iloc[:, k] for k in range(values.shape[1])]
    if hasattr(values, "get_columns"):  # polars
        return values.get_columns()
    if hasattr(values, "column_names") and hasattr(values, "columns"):  # pyarrow
        return values.columns
    return None


def _is_column(values):
    is_pandas = hasattr(values, "isna") and hasattr(values, "dtype")
    return is_pandas or (hasattr(values, "is_null") and hasattr(values, "fill_null"))


def _read_column(column):
    """Return the values of a series and what is missing, None if nothing is."""
    if hasattr(column, "isna"):
        return _read_pandas(column)
    is_arrow = hasattr(column, "drop_null")
    options = {"zero_copy_only": False} if is_arrow else {}
    if not (column.null_count if is_arrow else column.null_count()):
        return column.to_numpy(**options), None
    mask = column.is_null().to_numpy(**options)
    known = column.drop_null() if is_arrow else column.drop_nulls()
    known = known.to_numpy(**options)
    array = np.zeros(len(mask), dtype=known.dtype)
    array[~mask] = known
    return array, mask


def _read_pandas(column):
    dtype = column.dtype
    if isinstance(dtype, np.dtype):
        return np.asarray(column), None
    if hasattr(dtype, "categories"):
        return _read_categories(column)
    own = getattr(dtype, "numpy_dtype", None)
    mask = np.asarray(column.isna(), dtype=bool)
    if own is None or own.kind not in "biuf":  # text, dates: as pandas gives them
        return np.asarray(column), mask
    return column.to_numpy(dtype=own, na_value=own.type(0)), mask


def _read_categories(column):
    holder = column.cat if hasattr(column, "cat") else column
    codes = np.asarray(holder.codes)
    categories, _ = _read(holder.categories)
    mask = codes < 0
    if not len(categories):
        return np.zeros(len(codes), dtype=categories.dtype), mask
    return categories[np.where(mask, 0, codes)], mask


def _join(columns, n_rows):
    """Join columns of arrays and masks, in a dtype that holds all of them exactly."""
    if not columns:
        return np.empty((n_rows, 0)), None
    arrays = [array for array, _ in columns]
    kinds = {array.dtype.kind for array in arrays}
    dtype = np.dtype(object)
    if kinds <= set("biuf"):
        dtype = np.result_type(*arrays)
        if kinds <= set("iu") and dtype.kind == "f":  # int64 beside uint64
            dtype = np.dtype(object)
    elif len({array.dtype for array in arrays}) == 1:
        dtype = arrays[0].dtype
    array = np.empty((n_rows, len(arrays)), dtype=dtype, order="F")
    for k, column in enumerate(arrays):
        array[:, k] = column
    if all(mask is None for _, mask in columns):
        return array, None
    nothing = np.zeros(n_rows, dtype=bool)
    masks = [nothing if mask is None else mask for _, mask in columns]
    return array, np.column_stack(masks)


def _with_nan(array, mask, name):
    """Floats with NaN for what is missing."""
    if array.dtype.kind == "O":
        array = array.copy()
        array[mask] = np.nan
        return array
    if array.dtype.kind not in "biuf":
        raise ValueError(
            f"{name} must hold numbers where values are missing. Got {array.dtype}."
        )
    if array.dtype.kind == "f":
        array = array.copy()
    else:
        floats = array.astype(np.float64)
        if (floats.astype(object) != array.astype(object))[~mask].any():
            raise ValueError(
                f"{name} has integers beyond 2**53 beside missing values: as floats "
                "they would not be exact."
            )
        array = floats
    array[mask] = np.nan
    return array
