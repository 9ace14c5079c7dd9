"""FLAST as its paper describes it, built from scikit-learn: the reference for our own.

    python eval/flast_sklearn.py DATA.jsonl.gz FOLDS.json [--only FOLD] [--projections FOLDER]

DATA has a test per line with `id`, `source` and `label`. FOLDS is a list of
lists of ids: the tests of each fold. Prints one JSON object: precision, recall
and F1 pooled over the folds at both thresholds of the paper, and what training
and prediction cost in processor time on one core.

What FLAST says depends much on what the projection happens to be. So that two
programs can be compared at all, `--projections` takes the projections of the
other one, which FOLDER has for each fold; equally near neighbours are then
taken in the order of the data. Its times mean nothing.
"""

import argparse
import gzip
import json
import os
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import scipy.sparse
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.neighbors import NearestNeighbors
from sklearn.random_projection import SparseRandomProjection

NEIGHBOURS = 7
EPSILON = 0.33
THRESHOLDS = (0.5, 0.95)
# Below this a distance is rounding: the neighbour is a copy.
COPY = 1e-6
# Tests asked about in one call. Of 100, 500, 2,180 and 10,000 this was fastest.
BATCH = 500
# Neighbours that are asked for where equals are put in order.
TIES = 1000


def read(path):
    opened = gzip.open if str(path).endswith(".gz") else open
    with opened(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def risk(distances, flaky):
    """The share of the closeness that flaky neighbours bring."""
    copies = distances < COPY
    if copies.any():
        return flaky[copies].mean()
    closeness = 1 / distances
    return closeness[flaky].sum() / closeness.sum()


class Projections:
    """A projection that was drawn elsewhere: for each word its dimensions, with signs."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            drawn = json.load(file)
        self.words = list(drawn["words"])
        self.n_components_ = drawn["dimensions"]
        entries = [
            (column, dimension, sign)
            for column, word in enumerate(self.words) for dimension, sign in drawn["words"][word]
        ]
        columns, dimensions, signs = zip(*entries)
        self.matrix = scipy.sparse.csr_matrix(
            (np.array(signs, dtype=np.float32), (columns, dimensions)), (len(self.words), self.n_components_))

    def transform(self, counts):
        return counts @ self.matrix


def train_with(projection, sources):
    vectorizer = CountVectorizer(
        lowercase=False, token_pattern=r"\S+", dtype=np.float32, vocabulary=projection.words)
    index = NearestNeighbors(
        n_neighbors=min(TIES, len(sources)), metric="cosine", algorithm="brute", n_jobs=1)
    index.fit(projection.transform(vectorizer.transform(sources)))
    return vectorizer, projection, index


def first_of_equals(distances, rows):
    """The nearest neighbours, equals in the order of the data."""
    order = np.lexsort((rows, np.round(distances, 5)))[:NEIGHBOURS]
    return distances[order], rows[order]


def train(sources, seed):
    # FLAST keeps upper and lower case apart and splits at white space only.
    vectorizer = CountVectorizer(lowercase=False, token_pattern=r"\S+", dtype=np.float32)
    counts = vectorizer.fit_transform(sources)
    projection = SparseRandomProjection(eps=EPSILON, random_state=seed)
    projected = projection.fit_transform(counts)
    index = NearestNeighbors(n_neighbors=NEIGHBOURS, metric="cosine", algorithm="brute", n_jobs=1)
    index.fit(projected)
    return vectorizer, projection, index


def predict(model, labels, sources, batch):
    vectorizer, projection, index = model
    risks = []
    for start in range(0, len(sources), batch):
        projected = projection.transform(vectorizer.transform(sources[start : start + batch]))
        distances, rows = index.kneighbors(projected)
        found = zip(distances, rows)
        if isinstance(projection, Projections):
            found = (first_of_equals(*neighbours) for neighbours in found)
        risks.extend(risk(near, labels[row]) for near, row in found)
    return np.array(risks)


def quality(risks, labels, threshold):
    said = risks > threshold
    tp, fp, fn = (said & labels).sum(), (said & ~labels).sum(), (~said & labels).sum()
    precision = tp / (tp + fp) if tp + fp else 0.0
    recall = tp / (tp + fn) if tp + fn else 0.0
    f1 = 2 * tp / (2 * tp + fp + fn) if tp else 0.0
    return {"threshold": threshold, "precision": precision, "recall": recall, "f1": f1,
            "tp": int(tp), "fp": int(fp), "fn": int(fn)}


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("data")
    arguments.add_argument("folds")
    arguments.add_argument("--only", type=int, help="measure this fold alone")
    arguments.add_argument("--projections", help="a folder with the projection of each fold")
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--batch", type=int, default=BATCH)
    arguments = arguments.parse_args()

    rows = read(arguments.data)
    place = {row["id"]: number for number, row in enumerate(rows)}
    sources = [row["source"] for row in rows]
    labels = np.array([row["label"] == 1 for row in rows])
    with open(arguments.folds, encoding="utf-8") as file:
        folds = [[place[test] for test in fold] for fold in json.load(file)]
    folds = list(enumerate(folds))
    if arguments.only is not None:
        folds = [folds[arguments.only]]

    risks, truths, train_seconds, predict_seconds = [], [], [], 0.0
    for number, fold in folds:
        held_out = np.zeros(len(rows), dtype=bool)
        held_out[fold] = True
        learnt = np.flatnonzero(~held_out)
        start = time.process_time()
        known = [sources[row] for row in learnt]
        if arguments.projections:
            path = os.path.join(arguments.projections, f"projection-{number}.json")
            model = train_with(Projections(path), known)
        else:
            model = train(known, arguments.seed)
        train_seconds.append(time.process_time() - start)
        start = time.process_time()
        risks.append(predict(model, labels[learnt], [sources[row] for row in fold], arguments.batch))
        predict_seconds += time.process_time() - start
        truths.append(labels[fold])
    risks, truths = np.concatenate(risks), np.concatenate(truths)

    print(json.dumps({
        "training_rows": len(learnt),
        "dimensions": int(model[1].n_components_),
        "train_seconds": float(np.mean(train_seconds)),
        "predict_milliseconds_per_test": 1000 * predict_seconds / len(risks),
        "quality": [quality(risks, truths, threshold) for threshold in THRESHOLDS],
    }, indent=1, default=float))


if __name__ == "__main__":
    main()
