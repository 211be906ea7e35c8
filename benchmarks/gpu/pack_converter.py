"""Copies what an offline GPU machine needs for a GGUF, small enough to be carried.

    python -m benchmarks.gpu.pack_converter FOLDER

Puts into FOLDER the wheel of llama-cpp-python that `make install` has built, and as `llama.cpp` the
converters of its source package, which FTC_LLAMA_CPP_SDIST names.
"""

import os
import shutil
import sys
import tarfile
from pathlib import Path
from typing import Final

_WANTED: Final = (
    "convert_hf_to_gguf.py",
    "convert_lora_to_gguf.py",
    "conversion/",
    "gguf-py/",
)
_CACHE: Final = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def main() -> None:
    """Copy both, and print what they are."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    with tarfile.open(os.environ["FTC_LLAMA_CPP_SDIST"]) as package:
        for member in package:
            _, _, name = member.name.partition("/vendor/llama.cpp/")
            if name.startswith(_WANTED) and member.isfile():
                package.extract(member.replace(name=name), folder / "llama.cpp", filter="data")
    wheel = max((_CACHE / "ftc" / "wheels").glob("llama_cpp_python-*.whl"))
    shutil.copy(wheel, folder)
    print(folder / "llama.cpp", folder / wheel.name)


if __name__ == "__main__":
    main()
