"""What detectors need."""

import torch


def NonMaxSuppression(boxes, scores, limit=None, iou=None, score=None, *, center_point_box=0):
    """int64 [kept, 3]: batch, class, box."""
    limit = 0 if limit is None else int(limit)
    iou = 0.0 if iou is None else float(iou)
    if center_point_box:
        centre, size = boxes[..., :2], boxes[..., 2:]
        boxes = torch.cat([centre - size / 2, centre + size / 2], -1)
    low, high = torch.minimum(boxes[..., :2], boxes[..., 2:]), torch.maximum(boxes[..., :2], boxes[..., 2:])
    area, kept = (high - low).prod(-1), []
    for batch in range(scores.shape[0]):
        for label in range(scores.shape[1]):
            chosen = []
            for box in scores[batch, label].argsort(descending=True, stable=True).tolist():
                if len(chosen) == limit or (score is not None and not scores[batch, label, box] > score.reshape(())):
                    break
                others = torch.tensor(chosen, dtype=torch.int64, device=boxes.device)
                top = torch.minimum(high[batch, box], high[batch, others])
                overlap = (top - torch.maximum(low[batch, box], low[batch, others])).clamp(min=0).prod(-1)
                union = area[batch, box] + area[batch, others] - overlap
                if not bool((overlap / union > iou).any()):
                    chosen.append(box)
            kept.extend([batch, label, box] for box in chosen)
    return torch.tensor(kept, dtype=torch.int64, device=boxes.device).reshape(-1, 3)
