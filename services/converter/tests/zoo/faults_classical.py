"""In the environment `classical`: models that other converters got wrong, with the samples that show it. `… FOLDER`"""

import sys
from pathlib import Path

import joblib
import lightgbm
import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

folder = Path(sys.argv[1])
random = np.random.default_rng(0)
x = random.normal(size=(400, 4)).astype("float32")

# sklearn-onnx#1253: what is missing goes where the model learnt to send it, which is to the other side in one column.
missing = x.copy()
missing[::3, 0] = missing[1::3, 1] = np.nan
two = (np.isnan(missing[:, 0]) ^ (np.nan_to_num(missing[:, 1], nan=2.0) > 0)).astype(int)
joblib.dump(HistGradientBoostingClassifier(max_iter=20).fit(missing, two), folder / "missing.joblib")
np.savez(folder / "missing.npz", x=missing[:64])

# onnxmltools#309: categories are no order. Among the samples are such as were never seen.
kinds = x.copy()
kinds[:, 2] = random.integers(0, 12, len(x))
wanted = np.isin(kinds[:, 2], [1, 4, 5, 11]) * 3.0 + kinds[:, 0]
data = lightgbm.Dataset(kinds, wanted, categorical_feature=[2])
lightgbm.train({"objective": "regression", "verbose": -1, "min_data_per_group": 5}, data, 20).save_model(
    folder / "kinds.txt"
)
shown = kinds[:64].copy()
shown[::16, 2] = 40
np.savez(folder / "kinds.npz", x=shown)

# sklearn-onnx#1192, onnxruntime#4130: a threshold between two neighbours among the numbers of float32.
below = np.float32(random.uniform(1, 2, 32))
close = np.stack([below, np.nextafter(below, np.float32(9))]).reshape(-1, 1)
joblib.dump(DecisionTreeRegressor().fit(close, np.arange(64) // 32 + close[:, 0]), folder / "close.joblib")
np.savez(folder / "close.npz", x=close)

# The same where float32 meets float64 on the way: rows that the scaling moves across a threshold.
steps = np.round(x[:, :2] * 4) / 4
scaled = make_pipeline(StandardScaler(), RandomForestRegressor(10, random_state=0)).fit(steps, steps[:, 0] * 3)
joblib.dump(scaled, folder / "scaled.joblib")
np.savez(folder / "scaled.npz", x=steps[:64])
