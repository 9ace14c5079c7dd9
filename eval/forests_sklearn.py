"""Forests of scikit-learn on rows resampled by imbalanced-learn: the reference for our own.

    python eval/forests_sklearn.py FOLDER [--seeds SEEDS] [--others SEEDS]

FOLDER has the table, the labels and the folds, as the example `forests` of
flakewise-eval writes them. Prints one JSON object: for each model, resampling
and seed the MCC pooled over the folds, and what learning and prediction of the
whole table cost in processor time on one core; and how far what the package
`shap` says about our trees is from what we say.
"""

import argparse
import json
import os
import pathlib
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import shap
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
    print(json.dumps({"results": results, "shap": explained(table, json.loads((arguments.folder / "shap.json").read_text()))}))


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


def explained(table, forests):
    """The most by which a value differs from what `shap` says, over all rows and columns."""
    apart, largest = 0.0, 0.0
    for forest in forests:
        rows = forest["rows"]
        theirs, theirs_base = 0.0, 0.0
        for tree in forest["trees"]:
            left = np.array(tree["left"])
            inner = left > 0
            explainer = shap.TreeExplainer({"trees": [{
                "children_left": np.where(inner, left, -1),
                "children_right": np.where(inner, left + 1, -1),
                "children_default": np.where(inner, left, -1),
                "features": np.where(inner, tree["feature"], -2),
                # A threshold after all values is not in JSON.
                "thresholds": np.array([np.inf if at is None else at for at in tree["threshold"]]),
                "values": np.array(tree["value"]).reshape(-1, 1),
                "node_sample_weight": np.array(tree["cover"]),
            }]}, feature_perturbation="tree_path_dependent")
            asked = table[[row["row"] for row in rows]].astype(np.float64)
            theirs = theirs + explainer.shap_values(asked, check_additivity=False)
            theirs_base += float(np.ravel(explainer.expected_value)[0])
        ours = np.array([row["values"] for row in rows])
        theirs = np.asarray(theirs).reshape(ours.shape) / len(forest["trees"])
        apart = max(apart, float(np.abs(ours - theirs).max()))
        apart = max(apart, abs(theirs_base / len(forest["trees"]) - rows[0]["base"]))
        largest = max(largest, float(np.abs(theirs).max()))
    return {"rows": sum(len(forest["rows"]) for forest in forests), "apart": apart, "largest": largest}


if __name__ == "__main__":
    main()
