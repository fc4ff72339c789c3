"""What runs inside a job: the process group, progress, checkpoints, results.

    from trainyard.worker import init_distributed, report, save_checkpoint, latest_checkpoint, output_dir

Needs nothing but the standard library; a framework, or pyarrow for datasets, is imported only by what asks for it. Outside a
job everything still works, on one process and in the current folder, so a script can be tried by hand.
"""

from trainyard.worker.checkpoints import latest_checkpoint, save_checkpoint
from trainyard.worker.datasets import dataset, put_dataset
from trainyard.worker.distributed import init_distributed
from trainyard.worker.loading import tuned_dataset, tuned_loader
from trainyard.worker.memory import EmptyCache, checkpoint_gradients, mixed_precision
from trainyard.worker.place import Place, checkpoint_dir, here, output_dir
from trainyard.worker.process import Process
from trainyard.worker.progress import report

__all__ = [
    "EmptyCache",
    "Place",
    "Process",
    "checkpoint_dir",
    "checkpoint_gradients",
    "dataset",
    "here",
    "init_distributed",
    "latest_checkpoint",
    "mixed_precision",
    "output_dir",
    "put_dataset",
    "report",
    "save_checkpoint",
    "tuned_dataset",
    "tuned_loader",
]
