"""A study that is as small as can be."""

from dataclasses import asdict

from sklearn.datasets import load_iris
from sklearn.model_selection import cross_val_score
from sklearn.tree import DecisionTreeClassifier

from studies._page import Paragraph
from studies._plan import Plan
from studies._report import Answer, frame

PLAN = Plan("""
title = "Which tree?"
questions = []

[data.tables]
sets = ["iris"]

[[trainings]]
data = "tables"
estimators = ["tree"]
loss = "gini"
max_iter = 2
folds = 3
rounds = 1
""")
TITLE = PLAN["title"]
FIELDS = ("job", "score")
QUICK = ("iris",)
make_jobs = PLAN.make_jobs


def load(dataset, data_home=None):
    return load_iris(return_X_y=True)


def train(job, data_home=None, device="auto"):
    tree = DecisionTreeClassifier(max_depth=job.max_iter, random_state=job.seed)
    score = cross_val_score(tree, *load(job.dataset))[job.fold]
    return {"job": asdict(job), "score": score, "seconds": 0, "versions": {"x": "1"}}


def make_parts(records):
    best = max(record["score"] for record in records)
    answer = Answer([Paragraph(f"At best {best:.2f}.")])
    return frame(PLAN, {"tree": "decision tree"}, answer, records)
