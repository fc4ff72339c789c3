"""In the environment `tensorflow`: operators that take a path or an address, by the names of their arguments, as JSON."""

import json
import re
import sys

from tensorflow.core.framework import op_def_pb2
from tensorflow.python.client import pywrap_tf_session

PATH = re.compile(
    r"file|path|^(log|shard_)?dir$|^directory$|address|ur[li]$|token|_source|pattern|prefix|memory_region"
)

registered = op_def_pb2.OpList.FromString(pywrap_tf_session.TF_GetBuffer(pywrap_tf_session.TF_GetAllOpList()))
found = []
for operator in registered.op:
    arguments = [item.name for item in operator.input_arg if item.type == 7]  # DT_STRING
    arguments += [item.name for item in operator.attr if item.type in ("string", "list(string)")]
    if any(PATH.search(name) for name in arguments) or re.search(r"Reader(V2)?$", operator.name):
        found.append(operator.name)
sys.stdout.write(json.dumps(found))
