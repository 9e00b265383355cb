# Sourced by scripts/facet, scripts/test and python/setup/backend.py: brings in what the build needs, configures a preset,
# builds targets of it.
# Expects $root (the checkout). All messages go to stderr: stdout belongs to the command that was asked for.

say() { printf 'facet: %s\n' "$*" >&2; }
die() {
  say "$@"
  exit 1
}

# One build of this checkout at a time; a second caller waits for the first, then finds its work done.
lock_build() {
  mkdir -p "$root/build" && [[ -w $root/build ]] || die "cannot write to $root: build in a checkout of your own"
  command -v flock >/dev/null || die "no flock: install the package util-linux"
  exec 9>"$root/build/.lock"
  if ! flock -n 9; then
    say "another build of this checkout is under way; waiting for it"
    flock 9
  fi
}

unlock_build() { exec 9>&-; }

# The packages (the same names on Debian 12 and Ubuntu 24.04) whose probe, a command or a file, is not there.
missing_packages() {
  local name probe
  while read -r name probe; do
    case $probe in
      /*) compgen -G "$probe" >/dev/null || echo "$name" ;;
      *) command -v "$probe" >/dev/null || echo "$name" ;;
    esac
  done <<'LIST'
g++                 g++
cmake               cmake
ninja-build         ninja
llvm-19-dev         /usr/lib/llvm-19/lib/cmake/llvm/LLVMConfig.cmake
zlib1g-dev          /usr/include/zlib.h
libzstd-dev         /usr/include/zstd.h
libfmt-dev          /usr/include/fmt/format.h
catch2              /usr/include/catch2/catch*.hpp
libcli11-dev        /usr/include/CLI/CLI.hpp
nlohmann-json3-dev  /usr/include/nlohmann/json.hpp
libxxhash-dev       /usr/include/xxhash.h
LIST
}

# What fetching wheels from PyPI takes.
missing_pip() {
  # `python3 -m venv` is there without the package but then makes environments that have no pip.
  python3 -c 'import ensurepip, venv' 2>/dev/null || echo python3-venv
  [[ -e /etc/ssl/certs/ca-certificates.crt ]] || echo ca-certificates
}

# The headers of Python PYTHON, which extension modules are built with. A Python that is not Debian's brings its own.
missing_python_headers() {
  local header='import os, sysconfig, sys; sys.exit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))'
  "$1" -c "$header" || echo python3-dev
}

install_packages() {
  local packages=("$@") as_root=()
  command -v apt-get >/dev/null || die "these are missing, and there is no apt-get to install them with: ${packages[*]}
facet: (Debian's names; LLVM must be 19.1, in /usr/lib/llvm-19)"
  if [[ $(id -u) != 0 ]]; then
    if command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
      as_root=(sudo -n)
    else
      die "packages are missing, and installing them needs root. Ask the administrator of this machine to run
facet:     apt-get update && apt-get install --no-install-recommends ${packages[*]}
facet: then run this command again."
    fi
  fi
  say "installing packages: ${packages[*]}"
  as_root+=(env DEBIAN_FRONTEND=noninteractive apt-get -q -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=600)
  "${as_root[@]}" update >&2 || say "apt-get update failed; going on with the package lists there are"
  "${as_root[@]}" install -y --no-install-recommends "${packages[@]}" >&2 </dev/null ||
    die "apt-get could not install: ${packages[*]} (see above; LLVM 19 needs Debian 12.9, Ubuntu 24.04 or later)"
}

cuda_wheels=$root/.deps/cuda

# An installed toolkit of CUDA 12 or later with NVRTC, or the wheels that install_cuda puts into .deps/cuda.
has_cuda() {
  local toolkit
  [[ -e $cuda_wheels/nvidia/cu13/include/cuda.h ]] && return 0
  for toolkit in "${CUDA_HOME:-}" /usr/local/cuda; do
    if [[ -n $toolkit && -e $toolkit/include/cuda.h && -e $toolkit/include/nvrtc.h ]] &&
      compgen -G "$toolkit/lib64/libnvrtc.so.1[2-9]*" >/dev/null; then
      return 0
    fi
  done
  return 1
}

install_cuda() {
  has_cuda && return 0
  say "no CUDA toolkit with NVRTC in \$CUDA_HOME or /usr/local/cuda: installing NVIDIA's wheels 13.0 into .deps/cuda"
  local scratch=$root/.deps/cuda.part.$$
  rm -rf "$root"/.deps/cuda.part.*
  mkdir -p "$scratch"
  # A virtual environment only for its pip: Debian's own refuses to install, even into a folder of ours.
  python3 -m venv "$scratch/venv" >&2 &&
    "$scratch/venv/bin/python" -m pip install --disable-pip-version-check --no-deps --target "$scratch/cuda" \
      'nvidia-cuda-nvrtc==13.0.*' 'nvidia-cuda-runtime==13.0.*' 'nvidia-cuda-crt==13.0.*' >&2 </dev/null || {
    rm -rf "$scratch"
    die "pip could not install NVIDIA's wheels (see above). Try again with a network, or install a CUDA toolkit 12 or
facet: later and set CUDA_HOME to its folder."
  }
  [[ -e $scratch/cuda/nvidia/cu13/include/cuda.h ]] || die "NVIDIA's wheels hold no include/cuda.h: please report this"
  rm -rf "$cuda_wheels"
  mv "$scratch/cuda" "$cuda_wheels"
  rm -rf "$scratch"
}

# NVRTC from the wheels is on no search path: set where it is, unless the caller has done so.
export_nvrtc() {
  if [[ -z ${FA_NVRTC:-} && -d $cuda_wheels/nvidia/cu13/lib ]]; then export FA_NVRTC=$cuda_wheels/nvidia/cu13/lib; fi
}

set_up() {
  local missing
  mapfile -t missing < <(
    missing_packages
    has_cuda || missing_pip
  )
  if ((${#missing[@]})); then install_packages "${missing[@]}"; fi
  install_cuda
}

# The packages with which PYTHON's pip builds the wheel: no tests, and CUDA's headers come with pip's own build environment.
set_up_wheel() {
  local missing
  mapfile -t missing < <(
    missing_packages | grep -vx catch2
    missing_python_headers "$1"
  )
  if ((${#missing[@]})); then install_packages "${missing[@]}"; fi
}

# Clang, which the presets asan and fuzz build with, and the formatter.
set_up_clang() {
  local missing=()
  [[ -x /usr/lib/llvm-19/bin/clang++ ]] || missing+=(clang-19)
  compgen -G '/usr/lib/llvm-19/lib/clang/19/lib/*/libclang_rt.asan*' >/dev/null || missing+=(libclang-rt-19-dev)
  [[ -x /usr/lib/llvm-19/bin/clang-format ]] || missing+=(clang-format-19)
  if ((${#missing[@]})); then install_packages "${missing[@]}"; fi
}

# As many compilers as there are cores, and no more than memory holds (a file that includes LLVM takes up to 1.5 GB).
build_jobs() {
  local jobs kilobytes fit
  jobs=$(nproc)
  kilobytes=$(awk '/^MemAvailable:/ {print $2}' /proc/meminfo)
  fit=$((${kilobytes:-0} / 1500000))
  ((fit < 1)) && fit=1
  echo $((jobs < fit ? jobs : fit))
}

# build_preset PRESET TARGET...
build_preset() {
  local preset=$1 folder=$root/build/$1
  shift
  # CMake refuses a build folder that was made for another checkout (a copied or moved tree).
  if [[ -e $folder/CMakeCache.txt ]] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$folder/CMakeCache.txt"; then
    rm -rf "$folder"
  fi
  # ninja configures again when CMakeLists.txt changes, but not when the presets do.
  if [[ ! -e $folder/build.ninja || $root/CMakePresets.json -nt $folder/.configured ]]; then
    say "configuring ($preset)"
    (cd "$root" && cmake --preset "$preset" >"$folder.log" 2>&1) || {
      cat "$folder.log" >&2
      rm -rf "$folder/CMakeCache.txt" "$folder/CMakeFiles"
      die "cmake could not configure the preset $preset (see above)"
    }
    touch "$folder/.configured"
  fi
  say "building ($preset): $*"
  ninja -C "$folder" -j "$(build_jobs)" "$@" >&2 </dev/null || die "the build failed (see above)"
}
