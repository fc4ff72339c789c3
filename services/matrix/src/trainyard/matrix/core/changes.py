"""What to write in the job file instead: YAML that stands as it is, in block and in flow style, so that it can be pasted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from trainyard.matrix.core.wishes import Wish


def accelerators(count: int | str, products: Sequence[str] = (), why: str = "") -> str:
    """`resources: {accelerators: "1(a100, h100)"}`; quoted, because a comma ends a value in flow style."""
    text = f'"{count}({", ".join(products)})"' if products else str(count)
    return f"resources: {{accelerators: {text}}}{_comment(why)}"


def features(wish: Wish, names: Iterable[str], why: str = "") -> str:
    """The same framework and version with other features."""
    version = f', version: "{wish.version}"' if wish.version else ""
    return f"framework: {{name: {wish.framework}{version}, features: [{', '.join(names)}]}}{_comment(why)}"


def _comment(why: str) -> str:
    return f"  # {why}" if why else ""
