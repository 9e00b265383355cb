# Sourced after setup.sh: what the report is made with, and a browser to look at it.

report_venv=$root/.deps/report
report_packages=(matplotlib==3.11.2)

set_up_report() {
  [[ -e $report_venv/.installed && $(<"$report_venv/.installed") == "${report_packages[*]}" ]] && return 0
  say "installing ${report_packages[*]} into .deps/report"
  python3 -c 'import ensurepip, venv' 2>/dev/null || install_packages python3-venv
  rm -rf "$report_venv"
  python3 -m venv "$report_venv" >&2 &&
    "$report_venv/bin/python" -m pip install --disable-pip-version-check --no-compile -q "${report_packages[@]}" >&2 </dev/null ||
    die "pip could not install ${report_packages[*]} (see above)"
  printf '%s\n' "${report_packages[*]}" >"$report_venv/.installed"
}

# The first browser there is, or nothing.
browser() {
  local name
  for name in chromium chromium-browser google-chrome google-chrome-stable; do
    if command -v "$name"; then return 0; fi
  done
}

# Debian has a package of Chromium. Ubuntu's is a snap, which works neither in containers nor for scripts: there the page is
# opened where a browser is installed already.
set_up_browser() {
  [[ -n $(browser) ]] && return 0
  if [[ $(. /etc/os-release && echo "${ID:-}") == debian ]]; then install_packages chromium; fi
}

# make_report ARGS...: the page, with the command of the release build.
make_report() {
  "$report_venv/bin/python" "$root/bench/report.py" --facet "$root/build/release/facet" "$@"
}

# The page as it is made now, opened in headless Chromium.
check_report() {
  local folder status=0
  folder=$(mktemp -d)
  make_report -o "$folder/report.html" || status=1
  if [[ -z $(browser) ]]; then
    say "skipped: the report was made and not opened, since there is no Chromium: install google-chrome"
  elif ((status == 0)); then
    "$report_venv/bin/python" "$root/bench/page/check.py" "$folder/report.html" --browser "$(browser)" || status=1
  fi
  rm -rf "$folder"
  return "$status"
}
