"""Kill processes at random moments.

Every training runs in a process forked from a script that never trains itself: threads
of the libraries do not survive a fork.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

ROOT = Path(__file__).parents[1]


def run_script(path, n_kills):
    """Run a script that kills; return what it prints, one item for each kill."""
    run = subprocess.run(
        [sys.executable, str(path), str(n_kills)],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        timeout=1000,
    )
    assert run.returncode == 0, run.stderr
    outcome = json.loads(run.stdout.splitlines()[-1])
    assert len(outcome) == n_kills
    # A few end before they are killed.
    assert sum(kill["killed"] for kill in outcome) >= 0.75 * n_kills
    return outcome


def start(work, result, *args):
    """Write what `work` returns to the file `result`, in a forked process."""
    pid = os.fork()
    if pid == 0:
        warnings.simplefilter("ignore")
        code = 1
        try:
            result.write_text(json.dumps(work(*args)))
            code = 0
        finally:
            os._exit(code)
    return pid


def finish(work, result, *args):
    """Return what `work` returns in a forked process."""
    _, status = os.waitpid(start(work, result, *args), 0)
    if status:
        raise SystemExit(f"{work.__name__}{args} failed with status {status}")
    return json.loads(result.read_text())


def kill(pid, file, seconds):
    """Kill a process within some seconds after it has written a file, a pattern.

    Return whether it was still running.
    """
    while not list(file.parent.glob(file.name)):
        time.sleep(0.001)
    time.sleep(random.uniform(0, seconds))
    os.kill(pid, signal.SIGKILL)
    return os.WIFSIGNALED(os.waitpid(pid, 0)[1])
