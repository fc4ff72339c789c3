"""What each layer of a PyTorch module gives, in the order in which they are done."""

import torch

from trainyard.converter.workers.frame import flat


def layers(module, tensors):
    """[(name, class), array] of modules that hold no others; one that is called twice is there twice."""
    found = []

    def watch(name, part):
        def keep(_, given, output):
            del given
            for tensor in flat(output):
                if isinstance(tensor, torch.Tensor) and tensor.is_floating_point():
                    words = f"{name} ({type(part).__name__})"
                    found.append((words, tensor.detach().to(torch.float64).numpy().copy()))

        return part.register_forward_hook(keep)

    handles = [watch(name, part) for name, part in module.named_modules() if name and not list(part.children())]
    try:
        with torch.inference_mode():
            module(*tensors)
    finally:
        for handle in handles:
            handle.remove()
    return found
