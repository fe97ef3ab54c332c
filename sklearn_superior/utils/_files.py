"""Files that are written completely or not at all."""

import os
from contextlib import suppress
from uuid import uuid4


def write_atomically(path, data):
    """Write bytes to a file; if that fails, the file stays as it was."""
    temporary = path.with_name(f".{path.name}.{uuid4().hex}.tmp")
    try:
        with open(temporary, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())  # before the old file is replaced
        os.replace(temporary, path)
    finally:
        with suppress(OSError):  # the folder may be gone
            temporary.unlink(missing_ok=True)
