"""Code in a TorchScript archive, before it is loaded: whether it reaches files.

Its language mostly computes, but two of its operators read and write any file, and loading runs `__setstate__`.
"""

import os
import re
import zipfile

from trainyard.converter.workers.frame import Fault, first_line

REACHING = re.compile(rb"\b(from_file|save|getattr)\b")
"""As words, not as calls: names may be taken apart from calls. What torch writes itself never holds `getattr`."""


def harmless(request):
    """Refuses an archive whose code may reach files, unless it is trusted: the sandbox keeps no file from it."""
    if request["trust"]:
        return
    name = os.path.basename(request["weights"])
    try:
        with zipfile.ZipFile(request["weights"]) as archive:
            code = [member for member in archive.infolist() if "/code/" in member.filename]
            found = [(member.filename, REACHING.search(archive.read(member))) for member in code]
    except (OSError, ValueError, RuntimeError, zipfile.BadZipFile) as error:
        raise Fault("model", f"{name} cannot be read as TorchScript: {first_line(error)}")
    if not code:
        raise Fault("model", f"{name} cannot be read as TorchScript: there is no code in it")
    for member, match in found:
        if match:
            word, file = match.group().decode(), member.partition("/")[2]
            raise Fault("model", f"{name} may reach files ({word!r} in {file}); convert.trust lets it")
