"""Linear algebra of small matrices, unrolled: elimination with the largest pivot of a column, and Cholesky's square root.

The graph grows with the matrix's size, not with how many there are; beyond LARGEST it is refused.
"""

import torch

from trainyard.converter.workers.torch_decompositions.refused import Refused, fixed

aten = torch.ops.aten
LARGEST = 32
"""Rows. A matrix of this size takes some 700 nodes of ONNX."""


def size_of(a, operator):
    rows = fixed(a.shape[-1:], operator)[0]
    if rows > LARGEST:
        raise Refused(f"{operator} of {rows} × {rows} is not rewritten, {LARGEST} rows are at most")
    return rows


def eliminated(a, b, operator):
    """Gauss and Jordan: `b` becomes a⁻¹ b. Also the pivots, [..., rows], and -1 for each two rows that changed places."""
    order = torch.arange(size_of(a, operator), device=a.device)
    pivots, signs = [], []
    for step in range(len(order)):
        column = torch.where(order < step, -1, a[..., step].abs())
        best = column.argmax(-1, keepdim=True)
        here = torch.where(order == step, best, torch.where(order == best, step, order)).unsqueeze(-1)
        a, b = a.gather(-2, here.expand_as(a)), b.gather(-2, here.expand_as(b))
        pivot = a[..., step : step + 1, step : step + 1]
        factors = torch.where((order == step).unsqueeze(-1), 0, a[..., step : step + 1] / pivot)
        a, b = a - factors * a[..., step : step + 1, :], b - factors * b[..., step : step + 1, :]
        pivots.append(pivot[..., 0, 0])
        signs.append(torch.where(best[..., 0] == step, 1.0, -1.0).to(a.dtype))
    pivots = torch.stack(pivots, -1)
    return b / pivots.unsqueeze(-1), pivots, torch.stack(signs, -1)


def identity_like(a):
    return torch.eye(a.shape[-1], dtype=a.dtype, device=a.device).expand_as(a)


def inverse(a):
    return eliminated(a, identity_like(a), "linalg.inv")[0]


def inverse_ex(a, *, check_errors=False):
    del check_errors
    return inverse(a), None


def solve(a, b, *, left=True):
    if not left:
        return solve(a.mT, b.mT).mT
    vector = b.dim() == 1 or (a.dim() - 1 == b.dim() and b.shape == a.shape[:-1])
    b = b.unsqueeze(-1) if vector else b
    batch = torch.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a, b = a.expand(*batch, *a.shape[-2:]), b.expand(*batch, *b.shape[-2:])
    found = eliminated(a, b, "linalg.solve")[0]
    return found.squeeze(-1) if vector else found


def solve_ex(a, b, *, left=True, check_errors=False):
    del check_errors
    return solve(a, b, left=left), None, None, None


def sign_and_log(a):
    _, pivots, signs = eliminated(a, a[..., :1], "linalg.slogdet")
    return (pivots.sign() * signs).prod(-1), pivots.abs().log().sum(-1)


def sign_log_factors(a):
    return *sign_and_log(a), None, None


def cholesky(a, *, upper=False):
    """Column by column: each is what the earlier ones leave, over the root of its diagonal."""
    order = torch.arange(size_of(a, "linalg.cholesky"), device=a.device)
    columns = []
    for step in range(len(order)):
        rest = a[..., step]
        for column in columns:
            rest = rest - column * column[..., step : step + 1]
        columns.append(torch.where(order < step, 0, rest / rest[..., step : step + 1].sqrt()))
    return torch.stack(columns, -2 if upper else -1)


def cholesky_ex(a, *, upper=False, check_errors=False):
    del check_errors
    return cholesky(a, upper=upper), None


def solve_triangular(a, b, *, upper, left=True, unitriangular=False):
    if not left:
        return solve_triangular(a.mT, b.mT, upper=not upper, unitriangular=unitriangular).mT
    a = a.triu() if upper else a.tril()
    if unitriangular:
        a = torch.where(torch.eye(a.shape[-1], dtype=torch.bool, device=a.device), 1, a)
    return solve(a, b)


def cholesky_solve(b, factor, upper=False):
    lower = factor.mT if upper else factor
    return solve_triangular(lower.mT, solve_triangular(lower, b, upper=False), upper=True)


def cholesky_inverse(factor, upper=False):
    return cholesky_solve(identity_like(factor), factor, upper)


TABLE = {
    aten.inverse.default: inverse,
    aten.linalg_inv.default: inverse,
    aten.linalg_inv_ex.default: inverse_ex,
    aten.linalg_solve.default: solve,
    aten._linalg_solve_ex.default: solve_ex,
    aten.linalg_slogdet.default: sign_and_log,
    aten._linalg_slogdet.default: sign_log_factors,
    aten.linalg_cholesky.default: cholesky,
    aten.linalg_cholesky_ex.default: cholesky_ex,
    aten.linalg_solve_triangular.default: solve_triangular,
    aten.cholesky_solve.default: cholesky_solve,
    aten.cholesky_inverse.default: cholesky_inverse,
}
