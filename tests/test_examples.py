"""The scripts of the gallery and the demo run, in a folder of their own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"
SCRIPTS = sorted(path.name for path in EXAMPLES.glob("*.py"))


@pytest.mark.parametrize("script", SCRIPTS)
def test_example_runs(script, tmp_path):
    for library in ("matplotlib", "torch", "lightning", "skorch"):
        pytest.importorskip(library)
    threads = {"OMP_NUM_THREADS": "1", "MPLBACKEND": "Agg"}
    run = subprocess.run(
        [sys.executable, EXAMPLES / script],
        cwd=tmp_path,
        env=os.environ | threads,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
