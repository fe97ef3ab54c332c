"""Files that are written whole or not at all, and archives that are read with care."""

import os
import platform
import re
import threading
import zipfile
from contextlib import suppress
from io import BytesIO

_NODE = re.sub(r"\W+", "_", platform.node())


def write_atomically(path, data):
    """Write bytes to a file that exists afterwards either whole or as it was."""
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
    """Remove what processes of this machine that are dead left of writing `path`."""
    if os.name != "posix":  # where a process cannot be asked for without harm
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


def read_archive(data):
    """Return the members of a zip archive by name, from its bytes.

    Members must be stored as they are, as all archives of this package are, so that
    the archive is as large as what it holds: a small file cannot fill the memory.
    """
    with zipfile.ZipFile(BytesIO(data)) as archive:
        infos = archive.infolist()
        names = [info.filename for info in infos]
        if len(set(names)) < len(names):
            raise ValueError("it has two members of one name")
        if any(info.compress_type != zipfile.ZIP_STORED for info in infos):
            raise ValueError("its members are compressed")
        if sum(info.file_size for info in infos) > len(data):
            raise ValueError("its members are larger than itself")
        return {name: archive.read(name) for name in names}
