"""The experiments of the paper, done again and without their flaws.

``python -m sklearn_superior.replication --help`` says how to run them.
"""

__all__: list[str] = []
