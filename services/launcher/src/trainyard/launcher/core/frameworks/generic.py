"""Any command. Ranks find their numbers and one another's addresses (TRAINYARD_RANK, TRAINYARD_ENDPOINTS …) like
everybody's; no process group is formed. For frameworks whose ranks train independently too (scikit-learn, CatBoost), and
for LightGBM, whose parameters the worker library makes from those addresses: LightGBM reads no environment."""

from __future__ import annotations

from trainyard.launcher.core.frameworks.shape import Adapter

ADAPTER = Adapter()
