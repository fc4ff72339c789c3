"""Programs that frameworks keep as JSON, before they are loaded: whether they reach files or code."""

import json
import os

from trainyard.converter.workers.frame import Fault, first_line


def harmless(request, file, key, reaching):
    """Refuses operators that reach further than their tensors, unless the file is trusted. `file`: what the framework
    reads; `key`: under which an operator's name stands, alone or after a dialect; `reaching`: the names."""
    name = os.path.basename(file)
    try:
        with open(file) as stream:
            # As pairs: of a key that stands there twice, this reader and the framework's may take another one.
            waiting = [json.load(stream, object_pairs_hook=lambda pairs: [Pair(*pair) for pair in pairs])]
    except Exception as error:
        raise Fault("model", f"{name} cannot be read as {request['format']}: {first_line(error)}")
    while waiting and not request["trust"]:
        item = waiting.pop()
        if isinstance(item, Pair):
            operator = item.value.rpartition(".")[2] if isinstance(item.value, str) else ""
            if item.key == key and operator in reaching:
                raise Fault("model", f"{name}: {operator} reaches files or code; convert.trust lets it")
            waiting.append(item.value)
        elif isinstance(item, list):
            waiting += item


class Pair:
    def __init__(self, key, value):
        self.key = key
        self.value = value
