"""Read uncompressed .npz files: each array's size is checked against its header, and no pickle is read."""

import functools
import io
import zipfile
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.errors import BundleError
from dragoman.importing.file_formats.binary_reader import check_shape
from dragoman.importing.file_formats.weight_table import WeightTable
from dragoman.importing.source_files import check_zip_directory, reason

_CONFIG = "special:model.yml"
_MAX_DIRECTORY = 1 << 20  # about 10,000 arrays
_MAX_HEADER = 4096
_FLOATS = ("<f4", "<f2", "<f8")


def read_npz(path: Path) -> tuple[WeightTable, bytes]:
    """Return the weights and Marian's configuration (YAML)."""
    arrays: dict[str, Any] = {}
    shapes: dict[str, tuple[int, ...]] = {}
    config = b""
    check_zip_directory(path, _MAX_DIRECTORY)
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
            if sum(entry.file_size for entry in entries) > path.stat().st_size:
                raise BundleError(f"{path} must hold uncompressed arrays; save it again without compression")
            for entry in entries:
                name = entry.filename.removesuffix(".npy")
                if entry.compress_type != zipfile.ZIP_STORED:
                    raise BundleError(f"{path} must hold uncompressed arrays, got {ascii(name)[:60]} compressed")
                array = _array(path, name, archive.read(entry))
                if name == _CONFIG:
                    config = array.tobytes().rstrip(b"\0")
                elif array.dtype.str in _FLOATS:
                    arrays[name], shapes[name] = functools.partial(np.asarray, array), array.shape
    except (zipfile.BadZipFile, OSError, EOFError, NotImplementedError, ValueError, SyntaxError, TokenError) as error:
        raise BundleError(f"{path} must be an .npz file, got: {reason(error)}; get the file again") from None
    if not config:
        raise BundleError(f"{path} has no {_CONFIG}; it is not a model of Marian")
    return WeightTable(arrays, shapes), config


def _array(path: Path, name: str, data: bytes) -> NDArray[Any]:
    stream = io.BytesIO(data)
    read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    version = np.lib.format.read_magic(stream)
    if version not in read:
        raise ValueError(f"version {version} of an array")
    shape, is_fortran, dtype = read[version](stream, max_header_size=_MAX_HEADER)
    if dtype.hasobject or dtype.kind not in "fiu":
        raise ValueError(f"the number type {dtype} of an array")
    content = data[stream.tell() :]
    check_shape(path, name, shape, dtype.itemsize, len(content))
    return np.frombuffer(content, dtype).reshape(shape, order="F" if is_fortran else "C")
