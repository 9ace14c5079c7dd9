"""Forests of scikit-learn on rows resampled by imbalanced-learn: the reference for our own.

    python eval/forests_sklearn.py FOLDER [--seeds SEEDS] [--others SEEDS]

FOLDER has the table, the labels and the folds, as the example `forests` of
flakewise-eval writes them. Prints one JSON object: for each model, resampling
and seed the MCC pooled over the folds, and what learning and prediction of the
whole table cost in processor time on one core.
"""

import argparse
import json
import os
import pathlib
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from imblearn.combine import SMOTEENN, SMOTETomek
from imblearn.over_sampling import SMOTE
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.metrics import matthews_corrcoef

MODELS = {"extra trees": ExtraTreesClassifier, "random forest": RandomForestClassifier}
RESAMPLINGS = {"SMOTE": SMOTE, "SMOTE+Tomek": SMOTETomek, "SMOTE+ENN": SMOTEENN}


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("folder", type=pathlib.Path)
    arguments.add_argument("--seeds", type=int, default=1)
    arguments.add_argument("--others", type=int, default=1)
    arguments = arguments.parse_args()
    about = json.loads((arguments.folder / "table.json").read_text())
    table = np.fromfile(arguments.folder / "table.bin", dtype="<f4").reshape(-1, about["columns"])
    labels = np.array(about["labels"])
    results = []
    for seed, folds in enumerate(about["folds"]):
        for resampling in RESAMPLINGS:
            models = [
                model for model in MODELS
                if seed < (arguments.seeds if (model, resampling) == ("extra trees", "SMOTE") else arguments.others)
            ]
            if models:
                results.extend(measure(table, labels, folds, resampling, models, seed))
    print(json.dumps({"results": results}))


def measure(table, labels, folds, resampling, models, seed):
    said = {model: np.zeros_like(labels) for model in models}
    fit = dict.fromkeys(models, 0.0)
    predict = dict.fromkeys(models, 0.0)
    rows = 0
    for number, fold in enumerate(folds):
        learnt = np.ones(len(labels), dtype=bool)
        learnt[fold] = False
        random = seed * 100 + number
        train, known = RESAMPLINGS[resampling](random_state=random).fit_resample(table[learnt], labels[learnt])
        rows += len(known)
        for model in models:
            forest = MODELS[model](random_state=random, n_jobs=1)
            start = time.process_time()
            forest.fit(train, known)
            fit[model] += time.process_time() - start
            start = time.process_time()
            answers = forest.predict(table)
            predict[model] += time.process_time() - start
            said[model][fold] = answers[fold]
    return [
        {"model": model, "resampling": resampling, "seed": seed, "rows": rows // len(folds),
         "mcc": float(matthews_corrcoef(labels, said[model])),
         "fit_seconds": fit[model] / len(folds), "predict_seconds": predict[model] / len(folds)}
        for model in models
    ]


if __name__ == "__main__":
    main()
