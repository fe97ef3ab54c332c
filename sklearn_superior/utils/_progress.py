"""Progress of long work, on standard error."""

import sys
from importlib.util import find_spec


def with_progress(results, *, n_all, task, unit):
    """Yield the results, and show how many there are.

    On a terminal this is a bar if tqdm is installed, else a line for each tenth.

    Examples
    --------
    >>> list(with_progress(iter("abc"), n_all=3, task="Reading", unit="letters"))
    ['a', 'b', 'c']
    """
    if sys.stderr.isatty() and find_spec("tqdm"):
        from tqdm import tqdm

        yield from tqdm(results, desc=task, total=n_all, unit=f" {unit}")
        return
    for n_done, result in enumerate(results, start=1):
        yield result
        if 10 * n_done // n_all > 10 * (n_done - 1) // n_all:
            print(f"{task}: {n_done} of {n_all} {unit}", file=sys.stderr, flush=True)
