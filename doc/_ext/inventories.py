"""Links to the documentation of other libraries, without a network.

Sphinx looks up such names in an inventory, which it downloads from each library. To
build offline, `write_inventories` writes small inventories with the names below. With
``DOC_ONLINE=1`` in the environment, the libraries' own inventories are used.
"""

import zlib
from pathlib import Path

# The address of the documentation, the path of a name in it, and the names.
PROJECTS = {
    "sklearn": (
        "https://scikit-learn.org/stable/",
        "modules/generated/{}.html",
        [
            "class sklearn.calibration.CalibratedClassifierCV",
            "class sklearn.calibration.CalibrationDisplay",
            "class sklearn.ensemble.HistGradientBoostingClassifier",
            "class sklearn.model_selection.GridSearchCV",
            "class sklearn.model_selection.GroupKFold",
            "class sklearn.model_selection.LeaveOneGroupOut",
            "class sklearn.model_selection.StratifiedGroupKFold",
            "class sklearn.model_selection.TimeSeriesSplit",
            "class sklearn.model_selection.TunedThresholdClassifierCV",
            "class sklearn.neural_network.MLPClassifier",
            "function sklearn.inspection.permutation_importance",
            "function sklearn.metrics.brier_score_loss",
            "function sklearn.metrics.log_loss",
            "function sklearn.metrics.make_scorer",
            "function sklearn.model_selection.cross_val_predict",
            "function sklearn.utils.class_weight.compute_sample_weight",
        ],
    ),
    "numpy": (
        "https://numpy.org/doc/stable/",
        "reference/generated/{}.html",
        ["class numpy.ndarray", "function numpy.array_split"],
    ),
}


def write_inventories(folder, *, online=False):
    """Write the inventories; return Sphinx's setting ``intersphinx_mapping``."""
    mapping = {}
    for project, (address, place, names) in PROJECTS.items():
        path = Path(folder) / f"{project}.inv"
        if not online:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(_inventory(project, place, names))
        mapping[project] = (address, None if online else str(path))
    return mapping


def _inventory(project, place, names):
    """Return an inventory in the format that Sphinx reads."""
    head = [
        "# Sphinx inventory version 2",
        f"# Project: {project}",
        "# Version: ",
        "# The remainder of this file is compressed using zlib.",
    ]
    lines = []
    for entry in sorted(names):
        role, name = entry.split()
        lines.append(f"{name} py:{role} 1 {place.format(name)}#{name} -")
    body = zlib.compress("\n".join([*lines, ""]).encode())
    return "\n".join([*head, ""]).encode() + body
