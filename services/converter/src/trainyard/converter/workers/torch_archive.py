"""Code in a TorchScript archive, before it is loaded: whether it reaches files.

Its language mostly computes, but two of its operators read and write any file, and loading runs `__setstate__`. The archive
is read by the reader that loads it: another one may see other members where a zip has two directories, and this one finds
them whatever the case of their names.
"""

import os
import re

import torch

from trainyard.converter.workers.frame import Fault

REACHING = re.compile(rb"\b(from_file|save|getattr)\b")
"""As words, not as calls: names may be taken apart from calls."""
MEMBER = re.compile(rb'\bgetattr(\(\w+, "\w+"\))')
"""How torch writes a member whose name is a number, as those of `nn.Sequential` are: the name stands there to be read."""
_NOISE = re.compile(
    r"\[enforce fail at \S+\] |err == 0\. |This is an internal miniz error.*|In PyTorch 2\.6.*"
    r"|Check the documentation.*"
)


def harmless(request):
    """Refuses an archive whose code may reach files, unless it is trusted: the sandbox keeps no file from it."""
    if request["trust"]:
        return
    name = os.path.basename(request["weights"])
    try:
        archive = torch._C.PyTorchFileReader(request["weights"])  # noqa: SLF001 - the one that torch.jit.load has
        members = archive.get_all_records()
        code = [member for member in members if member.lower().startswith("code/") or member.lower().endswith(".py")]
        found = [(member, REACHING.search(MEMBER.sub(rb"\1", archive.get_record(member)))) for member in code]
    except (RuntimeError, ValueError, OSError) as error:
        raise Fault("model", f"{name} cannot be read as TorchScript: {reason(error)}")
    if "model.json" in map(str.lower, members):  # its code may lie under any name
        raise Fault("model", f"{name} was written before PyTorch 1.4: save it anew, or convert.trust lets it")
    if not code:
        raise Fault("model", f"{name} cannot be read as TorchScript: there is no code in it")
    for member, match in found:
        if match:
            word = match.group().decode()
            raise Fault("model", f"{name} may reach files ({word!r} in {member}); convert.trust lets it")


def reason(error):
    """Without the places in torch's own source, its advice, and the frames of TorchScript, whose cause comes last."""
    text = str(error).strip() or type(error).__name__
    if "WeightsUnpickler error:" in text:
        text = " ".join(text.partition("WeightsUnpickler error:")[2].split())
    lines = text.splitlines()
    return _NOISE.sub("", lines[-1] if "in the TorchScript interpreter" in lines[0] else lines[0]).strip()[:300]
