"""
Folds for time series, drawn
============================

Which rows are for training, which for validation, and which for testing?
:class:`~sklearn_superior.plotting.HBlockDisplay` draws the folds of any splitter. Here
we compare K-fold, whole groups, and
:class:`~sklearn_superior.model_selection.HBlockSplit`.
"""

# %%
# Three recordings of different lengths. The rows are in time order.

import numpy as np

groups = np.repeat(["Ann", "Bob", "Cem"], [100, 60, 80])
X = np.zeros((len(groups), 1))

# %%
# K-fold ignores recordings. If it shuffles, it tests on rows whose neighbours in time
# are in the training set. If windows overlap, these neighbours even share samples.

import matplotlib.pyplot as plt
from sklearn.model_selection import GroupKFold, KFold

from sklearn_superior.plotting import HBlockDisplay

HBlockDisplay.from_splitter(KFold(5, shuffle=True, random_state=0), X)
plt.show()

# %%
# Keeping whole recordings together avoids this leak. But then the model is tested on
# people it has never seen, which is a different question, and there are at most as many
# folds as people.

HBlockDisplay.from_splitter(GroupKFold(3), X, groups=groups)
plt.show()

# %%
# ``HBlockSplit`` cuts each recording into ten blocks. A fifth of them is for
# validation, three tenths are for testing, and the rest is for training. From fold to
# fold, the validation and test blocks move by one block, and wrap around at the end.
# (``split`` trains on the validation blocks too; ``split_with_validation`` yields all
# three parts.)

from sklearn_superior.model_selection import HBlockSplit

HBlockDisplay.from_splitter(HBlockSplit(10), X, groups=groups)
plt.show()

# %%
# A gap leaves out the rows that would share samples with another part. It is counted in
# rows. :func:`~sklearn_superior.model_selection.recommended_gap` computes it for
# overlapping windows.

from sklearn_superior.model_selection import recommended_gap

gap = recommended_gap(length=40, overlap=0.75)
print("gap:", gap)
# sphinx_gallery_thumbnail_number = 4
HBlockDisplay.from_splitter(HBlockSplit(10, gap=gap), X, groups=groups)
plt.show()

# %%
# Without validation blocks, and with a step as long as the test set, every row is
# tested exactly once, as in K-fold.

blocks = HBlockSplit(10, n_validation_blocks=0, n_test_blocks=2, step=2, gap=gap)
HBlockDisplay.from_splitter(blocks, X, groups=groups)
plt.show()

# %%
# :ref:`sphx_glr_gallery_plot_leakage.py` shows how much a shuffled K-fold can
# overestimate a model.
