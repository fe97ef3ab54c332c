"""Progress of long-running work, on standard error."""

import sys
from importlib.util import find_spec


class Meter:
    """Progress meter.

    Shows a bar on a terminal if tqdm is installed, and otherwise a line for each tenth.

    Parameters
    ----------
    n_all : int
        Total number of units.

    task, unit : str
        Name of the work and of its units.

    Examples
    --------
    >>> with Meter(3, task="Reading", unit="letters") as meter:
    ...     meter.advance(2)
    """

    def __init__(self, n_all, *, task, unit):
        self._n_all, self._task, self._unit = n_all, task, unit
        self._n_done, self._bar = 0, None
        if sys.stderr.isatty() and find_spec("tqdm"):
            from tqdm import tqdm

            self._bar = tqdm(desc=task, total=n_all, unit=f" {unit}")

    def advance(self, n=1):
        """Report `n` more units."""
        before, self._n_done = self._n_done, self._n_done + n
        if self._bar is not None:
            self._bar.update(n)
        elif 10 * self._n_done // self._n_all > 10 * before // self._n_all:
            print(
                f"{self._task}: {self._n_done} of {self._n_all} {self._unit}",
                file=sys.stderr,
                flush=True,
            )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self._bar is not None:
            self._bar.close()


def with_progress(results, *, n_all, task, unit):
    """Yield results, and show the progress.

    Examples
    --------
    >>> list(with_progress(iter("abc"), n_all=3, task="Reading", unit="letters"))
    ['a', 'b', 'c']
    """
    with Meter(n_all, task=task, unit=unit) as meter:
        for result in results:
            yield result
            meter.advance()
