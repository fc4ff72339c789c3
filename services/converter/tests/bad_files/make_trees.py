"""In the environment `classical`: small honest models, for the tests to damage. `make_trees.py FOLDER`"""

import sys
from pathlib import Path

import catboost
import lightgbm
import numpy as np
import xgboost

folder = Path(sys.argv[1])
x = np.random.default_rng(0).normal(size=(100, 3)).astype("float32")
y = x[:, 0] * 2 + x[:, 1]
xgboost.train({}, xgboost.DMatrix(x, y), 2).save_model(folder / "net.json")
xgboost.train({}, xgboost.DMatrix(x, y), 2).save_model(folder / "net.ubj")
lightgbm.train({"verbose": -1}, lightgbm.Dataset(x, y), 2).save_model(folder / "net.txt")
quiet = catboost.CatBoostRegressor(iterations=2, depth=2, verbose=0, allow_writing_files=False)
quiet.fit(x, y).save_model(str(folder / "net.cbm"))
