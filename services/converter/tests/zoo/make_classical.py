"""In the environment `classical`: trained models, as people save them. `make_classical.py FOLDER`"""

import sys
from pathlib import Path

import catboost
import joblib
import lightgbm
import numpy as np
import xgboost
from sklearn.ensemble import (
    AdaBoostClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

folder = Path(sys.argv[1])
x = np.random.default_rng(0).normal(size=(400, 6)).astype("float32")
two, three, line = (
    (x[:, 0] + x[:, 1] * x[:, 2] > 0).astype(int),
    np.digitize(x[:, 0], [-0.5, 0.5]),
    x[:, 0] * 2 + x[:, 3],
)

joblib.dump(make_pipeline(StandardScaler(), LogisticRegression()).fit(x, three), folder / "logistic.joblib")
joblib.dump(GradientBoostingRegressor().fit(x, line), folder / "boosted.joblib")
joblib.dump(AdaBoostClassifier(n_estimators=10).fit(x, two), folder / "adaboost.joblib")
joblib.dump(RandomForestClassifier(20, random_state=0).fit(x, two), folder / "forest.joblib")
missing = x.copy()
missing[::7, 1] = np.nan
joblib.dump(HistGradientBoostingClassifier(max_iter=20).fit(missing, two), folder / "missing.joblib")
for name, target, options in (
    ("two.json", two, {"objective": "binary:logistic", "base_score": 0.3}),
    ("three.ubj", three, {"objective": "multi:softprob", "num_class": 3}),
    ("line.json", line, {"objective": "reg:squarederror"}),
):
    xgboost.train(options, xgboost.DMatrix(x, target), 20).save_model(folder / name)
for name, target, options in (
    ("two.txt", two, {"objective": "binary"}),
    ("three.txt", three, {"objective": "multiclass", "num_class": 3}),
    ("line.txt", line, {"objective": "regression"}),
):
    lightgbm.train({**options, "verbose": -1}, lightgbm.Dataset(x, target), 20).save_model(folder / name)
quiet = {"iterations": 20, "verbose": 0, "allow_writing_files": False}
for name, target, model in (
    ("two.cbm", two, catboost.CatBoostClassifier(**quiet)),
    ("three.cbm", three, catboost.CatBoostClassifier(loss_function="MultiClass", **quiet)),
    ("line.cbm", line, catboost.CatBoostRegressor(**quiet)),
):
    model.fit(x, target).save_model(str(folder / name))
