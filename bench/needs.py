"""What a script needs beside Python itself: where it is missing, the script ends and says how to get it."""
import importlib.util
import os
import sys

REMEDIES = {
    "torch": "`python3 -m pip install torch`",
    "numpy": "`python3 -m pip install numpy`",
    "facet": "`python3 -m pip install .`",
}


def modules(*names):
    """Ends the program with a message where a module cannot be found."""
    missing = [name for name in names if importlib.util.find_spec(name) is None]
    if missing:
        script = os.path.basename(sys.argv[0])
        remedies = " and ".join(REMEDIES[name] for name in missing)
        sys.exit(f"{script} needs {' and '.join(missing)}, which {sys.executable} does not have: {remedies} first, or run it by "
                 ".venv/bin/python, which `scripts/test --python` sets up, with PYTHONPATH=build/python")
