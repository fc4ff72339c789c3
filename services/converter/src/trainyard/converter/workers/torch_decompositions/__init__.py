"""Operators of PyTorch that no exporter writes, said in operators that it does: the table, and a program rewritten by it.

A decomposition takes what the operator takes. It gives None for a result that nobody asks it for, NotImplemented where the
operator is to stay, and raises Refused where the rewriting is out of reach. Whether the numbers are the same is proven
afterwards, as after any export.
"""

from trainyard.converter.workers.torch_decompositions import matrices, ordering, places, pooling, recurrent, special
from trainyard.converter.workers.torch_decompositions.refused import Refused

TABLE = {**pooling.TABLE, **places.TABLE, **matrices.TABLE, **ordering.TABLE, **special.TABLE, **recurrent.TABLE}
__all__ = ["TABLE", "Refused", "rewritten"]


def rewritten(program):
    """The program without the operators of the table, and the names of those that are gone."""
    done = set()

    def noting(operator, decomposition):
        def call(*args, **kwargs):
            found = decomposition(*args, **kwargs)
            if found is not NotImplemented:
                done.add(str(operator))
            return found

        return call

    # Only the table: what else can be decomposed the exporter decomposes itself, where it has to.
    table = {operator: noting(operator, decomposition) for operator, decomposition in TABLE.items()}
    return program.run_decompositions(table), sorted(done)
