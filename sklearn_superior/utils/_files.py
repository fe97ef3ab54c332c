"""Files that are written whole or not at all."""

import os
import platform
import re
import threading
from contextlib import suppress

_NODE = re.sub(r"\W+", "_", platform.node())


def write_atomically(path, data):
    """Write bytes to a file; if that fails, the file stays as it was."""
    temporary = path.with_name(
        f".{path.name}.{_NODE}-{os.getpid()}-{threading.get_ident()}.tmp"
    )
    try:
        with open(temporary, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        with suppress(OSError):  # the folder may be gone
            temporary.unlink(missing_ok=True)


def remove_leftovers(path):
    """Remove temporary files of `path` whose process, on this machine, has ended."""
    if os.name != "posix":  # elsewhere os.kill would end the process
        return
    pattern = re.compile(rf"\.{re.escape(path.name)}\.{_NODE}-(\d+)-\d+\.tmp")
    with suppress(OSError):
        for candidate in path.parent.iterdir():
            match = pattern.fullmatch(candidate.name)
            if match and not _is_alive(int(match[1])):
                candidate.unlink(missing_ok=True)


def _is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it belongs to somebody else
        return True
    return True
