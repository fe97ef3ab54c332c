"""A plan that was committed before its trainings, and is not changed since."""

import subprocess
from functools import lru_cache
from pathlib import Path


@lru_cache(maxsize=8)
def git_state(path):
    """Return the commit of a plan and that of the code.

    Raises a ValueError if the file is not as its commit has it.
    """
    path = Path(path).resolve()
    commit = _git(path.parent, "log", "-1", "--format=%H", "--", path.name)
    if not commit:
        raise ValueError(f"{path} must be committed before the first training.")
    if _git(path.parent, "status", "--porcelain", "--", path.name):
        raise ValueError(
            f"{path} must be as commit {commit[:12]} has it: a plan does not change."
        )
    return {
        "plan_commit": commit,
        "code_commit": _git(path.parent, "rev-parse", "HEAD"),
    }


def _git(folder, *words):
    command = ["git", "-C", str(folder), *map(str, words)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as exc:
        raise ValueError(f"The plan in {folder} must be in a git repository.") from exc
    return done.stdout.strip()
