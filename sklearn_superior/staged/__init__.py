"""The engine: one loop over the stages of any number of trainings in lockstep.

`Training` is one estimator on one split, a coroutine that advances by a stage at a time
(``_training.py``). `run` advances several in lockstep, scores and stops them
(``_engine.py``). The adapters know the libraries (``adapters/``). All of it is private;
`Stages` and `register_stages` are public names of `early_stopping`.
"""
