"""What a decomposition raises."""


class Refused(Exception):
    """The rewriting is out of reach: one sentence."""


def fixed(sizes, operator):
    """Sizes that the rewritten graph depends on, as numbers."""
    if not all(isinstance(size, int) for size in sizes):
        raise Refused(f"{operator} is rewritten for fixed sizes only: declare its dimension with a size")
    return list(sizes)
