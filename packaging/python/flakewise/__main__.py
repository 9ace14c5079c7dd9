"""`python -m flakewise`: the binary that this package installed."""

import os
import subprocess
import sys
import sysconfig


def binary():
    """The binary beside this interpreter, or in the scripts of the user's own site."""
    name = "flakewise" + (sysconfig.get_config_var("EXE") or "")
    schemes = [sysconfig.get_default_scheme()] if hasattr(sysconfig, "get_default_scheme") else [None]
    schemes.append(f"{os.name}_user")
    for scheme in schemes:
        folder = sysconfig.get_path("scripts", scheme) if scheme else sysconfig.get_path("scripts")
        path = os.path.join(folder, name)
        if os.path.isfile(path):
            return path
    sys.exit(f"cannot find the binary `{name}` that belongs to this package")


if __name__ == "__main__":
    command = [binary(), *sys.argv[1:]]
    if os.name == "posix":
        os.execv(command[0], command)
    sys.exit(subprocess.call(command))
