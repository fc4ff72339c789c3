"""In the torch image: the worker on one request after the other; torch is imported once. `export.py WORKER FOLDER…`"""

import importlib.util
import sys

spec = importlib.util.spec_from_file_location("torch_worker", sys.argv[1])
worker = importlib.util.module_from_spec(spec)
spec.loader.exec_module(worker)
for folder in sys.argv[2:]:
    worker.main(folder)
