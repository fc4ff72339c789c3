"""Models of scikit-learn, XGBoost, LightGBM and CatBoost.

A classifier gives `label` and `probabilities`, tensors both (no list of maps, which servers refuse); anything else gives
`prediction`. All of them take one table of float32 named `x`.
"""

import os
import re
import tempfile

import numpy

from trainyard.converter.workers.frame import Fault, first_line, sentence
from trainyard.converter.workers.graphs import declare, rename, tensors_only, whole_categories


def load(request):
    return FAMILIES[request["format"]](request)


class Model:
    outputs = None
    parameters = 0

    def __init__(self, request, framework, width):
        self.request = request
        self.framework = framework
        self.inputs = [{"name": "x", "dtype": "float32", "shape": [-1, int(width)]}]

    def compute(self, inputs, case):
        table = inputs[self.request["inputs"][0]["name"]]
        try:
            return {name: numpy.asarray(value) for name, value in self.predict(table).items()}
        except Exception as error:
            raise Fault("model", f"the model fails on its declared inputs ({case}): {sentence(error)}")

    def export(self, rung, references, path):
        from trainyard.converter.workers import onnx_file

        try:
            model = self.onnx(rung["opset"])
        except Exception as error:
            raise Fault("export", sentence(error))
        tensors_only(model)
        rename(model, [self.request["inputs"][0]["name"]], list(next(iter(references.values()))))
        declare(model.graph, next(iter(references.values())))
        onnx_file.save(model, path)


class Sklearn(Model):
    def __init__(self, request):
        import joblib
        import sklearn

        self.model = read(request, joblib.load)
        if not hasattr(self.model, "predict"):
            raise Fault("model", f"the file holds a {type(self.model).__name__}, which predicts nothing")
        width = getattr(self.model, "n_features_in_", None)
        if width is None:
            raise Fault("model", f"the {type(self.model).__name__} was not fitted")
        super().__init__(request, f"scikit-learn {sklearn.__version__}", width)

    def predict(self, table):
        if not hasattr(self.model, "predict_proba"):
            return {"prediction": column(self.model.predict(table).astype("float32"))}
        return {"label": self.model.predict(table), "probabilities": self.model.predict_proba(table).astype("float32")}

    def onnx(self, opset):
        from skl2onnx import to_onnx
        from skl2onnx.common.data_types import FloatTensorType

        options = {"zipmap": False} if hasattr(self.model, "predict_proba") else None
        kinds = [("x", FloatTensorType([None, self.inputs[0]["shape"][1]]))]
        return to_onnx(
            self.model, initial_types=kinds, options={id(self.model): options} if options else None, target_opset=opset
        )


class Xgboost(Model):
    def __init__(self, request):
        import xgboost

        self.booster = xgboost.Booster()
        read(request, self.booster.load_model)
        super().__init__(request, f"xgboost {xgboost.__version__}", self.booster.num_features())

    def predict(self, table):
        import xgboost

        return classes(self.booster.predict(xgboost.DMatrix(table)), self.objective())

    def objective(self):
        import json

        return json.loads(self.booster.save_config())["learner"]["objective"]["name"]

    def onnx(self, opset):
        from onnxmltools.convert import convert_xgboost
        from onnxmltools.convert.common.data_types import FloatTensorType

        width = self.inputs[0]["shape"][1]
        return convert_xgboost(self.booster, initial_types=[("x", FloatTensorType([None, width]))], target_opset=opset)


class Lightgbm(Model):
    def __init__(self, request):
        import lightgbm

        self.booster = read(request, lambda path: lightgbm.Booster(model_file=path))
        super().__init__(request, f"lightgbm {lightgbm.__version__}", self.booster.num_feature())

    def predict(self, table):
        objective = self.booster.dump_model()["objective"].split(" ")[0]
        return classes(self.booster.predict(table).astype("float32"), objective)

    def onnx(self, opset):
        from onnxmltools.convert import convert_lightgbm
        from onnxmltools.convert.common.data_types import FloatTensorType

        width = self.inputs[0]["shape"][1]
        kinds = [("x", FloatTensorType([None, width]))]
        model = convert_lightgbm(self.booster, initial_types=kinds, zipmap=False, target_opset=opset)
        whole_categories(model.graph, width)
        return model


class Catboost(Model):
    def __init__(self, request):
        import catboost

        self.model = catboost.CatBoost()
        read(request, self.model.load_model)
        super().__init__(request, f"catboost {catboost.__version__}", len(self.model.feature_names_))

    def predict(self, table):
        if not self.classifies():
            return {"prediction": column(self.model.predict(table).astype("float32"))}
        labels = self.model.predict(table, prediction_type="Class")
        return {
            "label": numpy.asarray(labels).reshape(-1),
            "probabilities": numpy.asarray(self.model.predict(table, prediction_type="Probability")).astype("float32"),
        }

    def classifies(self):
        return self.model.get_all_params().get("loss_function") in (
            "Logloss",
            "CrossEntropy",
            "MultiClass",
            "MultiClassOneVsAll",
        )

    def onnx(self, opset):
        import onnx

        del opset  # it writes the set that it knows
        path = os.path.join(tempfile.gettempdir(), "catboost.onnx")
        self.model.save_model(path, format="onnx")
        return onnx.load(path)


CLASSIFIES = ("Logloss", "CrossEntropy", "MultiClass", "MultiClassOneVsAll")
"""Loss functions of CatBoost's classifiers. Source: its documentation, "Objectives and metrics"."""

FAMILIES = {"sklearn": Sklearn, "xgboost": Xgboost, "lightgbm": Lightgbm, "catboost": Catboost}


def read(request, reader):
    path = request["weights"]
    try:
        return reader(path)
    except FileNotFoundError:
        raise Fault("model", f"there is no model at {path} (convert.weights)")
    except MemoryError:
        raise
    except Exception as error:
        words = re.sub(r"^(\[[\d:]+\] )?\S+\.(cc|cpp):\d+: ", "", first_line(error))  # places in their own source
        raise Fault("model", f"{os.path.basename(path)} cannot be read as {request['format']}: {words}")


def classes(found, objective):
    """What the same model of ONNX gives: labels and one probability a class, or a column of predictions."""
    if objective in ("binary:logistic", "binary"):
        probabilities = numpy.stack([1 - found, found], axis=1)
    elif objective in ("multi:softprob", "multiclass"):
        probabilities = found
    else:
        return {"prediction": column(found)}
    return {
        "label": numpy.argmax(probabilities, axis=1).astype("int64"),
        "probabilities": probabilities.astype("float32"),
    }


def column(values):
    return values.reshape(len(values), -1)
