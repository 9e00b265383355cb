"""The build backend of `pip install .`: scikit-build-core's, once the packages that the build needs are there."""

import importlib.util
import os
import subprocess
import sys

from scikit_build_core.build import (  # noqa: F401  what pip calls
    build_sdist,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_wheel,
)
from scikit_build_core.build import build_wheel as _build_wheel

_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    settings = dict(config_settings or {})
    # LLVM and the other Debian packages: installed where that takes no password, else named in an error.
    set_up = 'root=$1; source "$root/scripts/setup.sh"; set_up_wheel "$2"'
    subprocess.run(["bash", "-euc", set_up, "bash", _ROOT, sys.executable], check=True)
    nvidia = importlib.util.find_spec("nvidia.cu13")
    if nvidia and nvidia.submodule_search_locations:
        settings["cmake.define.FA_CUDA_INCLUDE"] = os.path.join(nvidia.submodule_search_locations[0], "include")
    return _build_wheel(wheel_directory, settings, metadata_directory)
