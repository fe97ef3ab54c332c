"""
Folds for time series, drawn
============================

Which rows train, which validate, which test?
:class:`~sklearn_superior.plotting.HBlockDisplay` draws the folds of any splitter. Here
are those of K-fold, of whole groups, and those of
:class:`~sklearn_superior.model_selection.HBlockSplit`.
"""

# %%
# Three recordings of different length. The rows are in time order.

import numpy as np

groups = np.repeat(["Ann", "Bob", "Cem"], [100, 60, 80])
X = np.zeros((len(groups), 1))

# %%
# K-fold knows nothing of recordings. Shuffled, it tests rows whose neighbours in time
# it has trained on. If windows overlap, the neighbours even share samples.

import matplotlib.pyplot as plt
from sklearn.model_selection import GroupKFold, KFold

from sklearn_superior.plotting import HBlockDisplay

HBlockDisplay.from_splitter(KFold(5, shuffle=True, random_state=0), X)
plt.show()

# %%
# With whole recordings on one side there is no such leak. But the model is then asked
# about people that it has never seen, which is another question, and there are only as
# many folds as people.

HBlockDisplay.from_splitter(GroupKFold(3), X, groups=groups)
plt.show()

# %%
# Each recording is cut into ten blocks. Of every recording, a fifth of the blocks
# validates, three tenths test and the rest train. From fold to fold the validation and
# test blocks move on by one block, and continue at the front when they have passed the
# end.

from sklearn_superior.model_selection import HBlockSplit

HBlockDisplay.from_splitter(HBlockSplit(10), X, groups=groups)
plt.show()

# %%
# Where two parts meet, a gap leaves out the rows that would share samples with the
# other side. It is counted in rows;
# :func:`~sklearn_superior.model_selection.recommended_gap` says how many are needed
# for windows that overlap.

from sklearn_superior.model_selection import recommended_gap

gap = recommended_gap(length=40, overlap=0.75)
print("gap:", gap)
# sphinx_gallery_thumbnail_number = 4
HBlockDisplay.from_splitter(HBlockSplit(10, gap=gap), X, groups=groups)
plt.show()

# %%
# Without a validation set and with a step as long as the test set, every row is tested
# exactly once, as in K-fold.

blocks = HBlockSplit(10, n_validation_blocks=0, n_test_blocks=2, step=2, gap=gap)
HBlockDisplay.from_splitter(blocks, X, groups=groups)
plt.show()

# %%
# :ref:`sphx_glr_gallery_plot_leakage.py` shows how much a shuffled K-fold can flatter a
# model.
