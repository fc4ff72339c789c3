"""Each decomposition of the table against the operator itself, in eager PyTorch: prints how many operators it has compared.

`python decompositions.py WORKERS`, where WORKERS is the folder above the package `trainyard`.
"""

import sys

import torch

sys.path.insert(0, sys.argv[1])
from trainyard.converter.workers.torch_decompositions import TABLE

aten = torch.ops.aten
torch.manual_seed(0)
X = torch.randn(3, 4, 7)
TIES = torch.tensor([[2.0, 1, 2, 1, 3], [5, 5, 4, 4, 4], [0, -0.0, 1, 1, 0]])
HOLES = torch.tensor([[1.0, torch.nan, 3, 2], [torch.nan] * 4, [4, 3, 2, 1]])
SQUARE = torch.randn(2, 3, 5, 5)
ZERO_PIVOT = torch.tensor([[[0.0, 2, 1], [1, 0, 0], [3, 0, 1]]])
DEFINITE = SQUARE @ SQUARE.mT + torch.eye(5)
LOWER = torch.linalg.cholesky(DEFINITE)
INDEX = torch.tensor([[0, 1, 1, 3], [3, 3, 0, 0]])
SORTED = torch.tensor([-1.0, 0, 0, 2])
EDGES = torch.tensor([-1.0, 0, 1, -0.0, 3, torch.inf, -torch.inf])
STATE = (torch.randn(4, 3, 2), torch.randn(4, 3, 6))
WEIGHTS = [torch.randn(size) for wide in (5, 5, 4, 4) for size in ((24, wide), (24, 2), (24,), (24,), (2, 6))]

CASES = {
    aten.adaptive_max_pool1d.default: [((X, [3]), {}), ((X, [7]), {})],
    aten.adaptive_max_pool2d.default: [((X, [3, 5]), {}), ((X[:, :, :2], [3, 3]), {})],
    aten.adaptive_max_pool3d.default: [((X.unsqueeze(0), [2, 3, 5]), {})],
    aten.adaptive_avg_pool3d.default: [((X.unsqueeze(0), [2, 3, 5]), {})],
    aten._adaptive_avg_pool3d.default: [((X.unsqueeze(0), [2, 3, 5]), {})],
    aten._native_batch_norm_legit_functional.default: [
        ((X, torch.ones(4) * 2, torch.ones(4), torch.randn(4), torch.ones(4), True, 0.1, 1e-5), {}),
        ((X, None, None, torch.randn(4), torch.ones(4), True, 0.3, 1e-3), {}),
    ],
    aten.scatter_reduce.two: [
        ((torch.ones(2, 5), 1, INDEX, X[0, :2], "mean"), {"include_self": own}) for own in (True, False)
    ]
    + [((torch.ones(3, 5, dtype=torch.int64), 1, INDEX, torch.arange(21).reshape(3, 7), "mean"), {})],
    aten.index_reduce.default: [
        ((torch.ones(3, 4, 2), -1, INDEX[0].clamp(max=1), X[:, :, :4], how), {"include_self": False})
        for how in ("mean", "amax")
    ],
    aten.put.default: [((X, torch.tensor([[0, -1], [9, 5]]), torch.ones(2, 2), more), {}) for more in (False, True)],
    aten.searchsorted.Tensor: [
        ((SORTED, SORTED), {}),
        ((SORTED, X), {"right": True}),
        ((SORTED, X), {"side": "right", "out_int32": True}),
        ((HOLES[2:].expand(3, 4), TIES), {"sorter": torch.tensor([[3, 2, 1, 0]]).expand(3, 4).contiguous()}),
    ],
    aten.searchsorted.Scalar: [((SORTED, 0.0), {}), ((SORTED, 0.0), {"right": True})],
    aten.pdist.default: [((X[0], p), {}) for p in (0.0, 1.0, 2.0, 3.0, torch.inf)],
    aten.cdist.default: [((X, X[:, :2] + 1, p), {}) for p in (0.0, 1.0, 2.0, 3.0, torch.inf)],
    aten.linalg_inv.default: [((SQUARE,), {}), ((ZERO_PIVOT,), {}), ((SQUARE[0, 0],), {})],
    aten.linalg_solve.default: [
        ((SQUARE, SQUARE[0, 0]), {}),
        ((SQUARE, SQUARE[..., :2]), {}),
        ((SQUARE, SQUARE), {"left": False}),
        ((SQUARE, SQUARE[..., 0]), {}),
        ((ZERO_PIVOT, X[:1, 1, :3]), {}),
    ],
    aten.linalg_slogdet.default: [((SQUARE,), {}), ((ZERO_PIVOT,), {})],
    aten.linalg_cholesky.default: [((DEFINITE,), {"upper": upper}) for upper in (False, True)],
    aten.linalg_solve_triangular.default: [
        ((LOWER, SQUARE), {"upper": False}),
        ((LOWER.mT, SQUARE), {"upper": True, "left": False}),
        ((LOWER, SQUARE), {"upper": False, "unitriangular": True}),
    ],
    aten.cholesky_solve.default: [((SQUARE, LOWER), {}), ((SQUARE, LOWER.mT, True), {})],
    aten.cholesky_inverse.default: [((LOWER,), {}), ((LOWER.mT, True), {})],
    aten.kthvalue.default: [((X, 3, 1), {}), ((X, 3, 1, True), {})],
    aten.median.dim: [((X, 1), {}), ((X, -1, True), {})],
    aten.median.default: [((X,), {}), ((HOLES,), {})],
    aten.nanmedian.dim: [((HOLES[::2], 1), {}), ((X, 0, True), {})],
    aten.mode.default: [((TIES,), {}), ((TIES.to(torch.int64), 0, True), {})],
    aten.cummax.default: [((X, 1), {}), ((TIES, -1), {}), ((TIES.to(torch.int64), 0), {})],
    aten.cummin.default: [((X, 1), {}), ((TIES, -1), {})],
    aten.cumprod.default: [((X, 1), {}), ((INDEX, 0), {"dtype": torch.float64})],
    aten.hypot.default: [((X, X + 1), {}), ((torch.tensor([3e38, 0, torch.inf]), torch.tensor([1e38, 0, 1])), {})],
    aten.copysign.Tensor: [((X[0, 0], EDGES), {})],
    aten.linalg_vander.default: [((X,), {"N": 3})],
    aten.vander.default: [((X[0, 0],), {}), ((X[0, 0], 3, True), {})],
    aten.erfinv.default: [((torch.linspace(-1.1, 1.1, 999),), {}), ((torch.tensor([1.0, -1, 0, 0.9999999]),), {})],
    aten.special_ndtri.default: [((torch.linspace(0, 1, 99),), {})],
    aten.lgamma.default: [((torch.linspace(-4, 60, 999),), {})],
    aten.lstm.input: [((X[:, :, :5], STATE, WEIGHTS, True, 2, 0.0, False, True, True), {})],
}
CASES[aten.inverse.default] = CASES[aten.linalg_inv.default]
CASES[aten.linalg_inv_ex.default] = CASES[aten.linalg_inv.default]
CASES[aten._linalg_solve_ex.default] = CASES[aten.linalg_solve.default]
CASES[aten._linalg_slogdet.default] = CASES[aten.linalg_slogdet.default]
CASES[aten.linalg_cholesky_ex.default] = CASES[aten.linalg_cholesky.default]
CASES[aten._cdist_forward.default] = [((*args, None), {}) for args, _ in CASES[aten.cdist.default]]
CASES[aten._pdist_forward.default] = CASES[aten.pdist.default]
CASES[aten.special_erfinv.default] = CASES[aten.erfinv.default]


def compare(operator, args, kwargs):
    wanted, found = operator(*args, **kwargs), TABLE[operator](*args, **kwargs)
    wanted, found = (item if isinstance(item, (tuple, list)) else [item] for item in (wanted, found))
    for one, other in zip(wanted, found, strict=True):
        if other is not None:
            words = lambda text: f"{operator}: {text}"  # noqa: E731
            torch.testing.assert_close(other, one, rtol=1e-4, atol=1e-5, equal_nan=True, msg=words)


missing = set(TABLE) - set(CASES)
if missing:
    sys.exit(f"compared with nothing: {missing}")
for each, cases in CASES.items():
    for given in cases:
        compare(each, *given)
print(len(CASES))  # noqa: T201
