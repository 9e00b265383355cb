# Sourced after setup.sh: the virtual environment of the Python tests, and the package in it.

venv=$root/.venv

# .venv with what python/tests/requirements.txt lists. FA_TEST_PYTHON names the Python that it is made from.
set_up_python() {
  local python=${FA_TEST_PYTHON:-python3} wanted=$root/python/tests/requirements.txt missing
  mapfile -t missing < <(
    missing_pip
    missing_python_headers "$python"
  )
  if ((${#missing[@]})); then install_packages "${missing[@]}"; fi
  [[ -e $venv/.installed ]] && cmp -s "$wanted" "$venv/.installed" && return 0
  say "installing what the Python tests need into .venv"
  [[ -x $venv/bin/python ]] || "$python" -m venv "$venv" >&2 || die "$python could not make a virtual environment in $venv"
  # Without --no-compile pip compiles every file of these packages, which takes as long as installing them; Python compiles what
  # is imported.
  "$venv/bin/python" -m pip install --disable-pip-version-check --no-compile -q -r "$wanted" >&2 </dev/null ||
    die "pip could not install what python/tests/requirements.txt lists (see above)"
  cp "$wanted" "$venv/.installed"
}

# The package, from the objects of the preset release, into build/python: what the wheel holds.
build_python() {
  local folder=$root/build/release
  grep -qxF 'FA_PYTHON:BOOL=ON' "$folder/CMakeCache.txt" ||
    cmake -S "$root" -B "$folder" -DFA_PYTHON=ON -DPython_EXECUTABLE="$venv/bin/python" >"$folder.log" 2>&1 ||
    { cat "$folder.log" >&2 && die "cmake could not configure the Python package (see above)"; }
  build_preset release facet_python
  rm -rf "$root/build/python"
  cmake --install "$folder" --component python --prefix "$root/build/python" >/dev/null
}
