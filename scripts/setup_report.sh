# Sourced after setup.sh: what the report is made with, and a browser to look at it.

report_venv=$root/.deps/report
report_packages=(matplotlib==3.11.2)

set_up_report() {
  [[ -e $report_venv/.installed && $(<"$report_venv/.installed") == "${report_packages[*]}" ]] && return 0
  say "installing ${report_packages[*]} into .deps/report"
  python3 -c 'import ensurepip, venv' 2>/dev/null || install_packages python3-venv
  rm -rf "$report_venv"
  python3 -m venv "$report_venv" >&2 &&
    "$report_venv/bin/python" -m pip install --disable-pip-version-check -q "${report_packages[@]}" >&2 </dev/null ||
    die "pip could not install ${report_packages[*]} (see above)"
  printf '%s\n' "${report_packages[*]}" >"$report_venv/.installed"
}

set_up_browser() {
  command -v chromium >/dev/null || install_packages chromium
}

# make_report ARGS...: the page, with the command of the release build.
make_report() {
  "$report_venv/bin/python" "$root/bench/report.py" --facet "$root/build/release/facet" "$@"
}

# The page as it is made now, opened in headless Chromium.
check_report() {
  local folder status=0
  folder=$(mktemp -d)
  make_report -o "$folder/report.html" && "$report_venv/bin/python" "$root/bench/page/check.py" "$folder/report.html" || status=1
  rm -rf "$folder"
  return "$status"
}
