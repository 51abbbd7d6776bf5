"""Runs ansible-inventory --list --export once for each file named, in a process of its own that need not import all
of Ansible again, and prints {file: {code, out, err}}. The interpreter has to be the one of ansible-inventory."""
import contextlib
import gc
import io
import json
import os
import sys

from ansible import constants
from ansible.cli.inventory import InventoryCLI
from ansible.plugins.loader import cache_loader, inventory_loader, vars_loader


def child(path, pipe):
    out, err, code = io.StringIO(), io.StringIO(), 0
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            cli = InventoryCLI(["ansible-inventory", "-i", path, "--list", "--export"])
            cli.parse()
            cli.run()
    except SystemExit as e:
        code = e.code or 0
    except BaseException as e:
        code = 1
        err.write("%s: %s" % (type(e).__name__, e))
    with os.fdopen(pipe, "w") as f:
        json.dump({"code": code, "out": out.getvalue(), "err": err.getvalue()}, f)


def answer(path):
    receive, send = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(receive)
        child(path, send)
        os._exit(0)
    os.close(send)
    with os.fdopen(receive) as f:
        text = f.read()
    os.waitpid(pid, 0)
    return json.loads(text)


# What every child would load is loaded once.
for plugin in constants.INVENTORY_ENABLED:
    inventory_loader.get(plugin)
list(vars_loader.all())
cache_loader.get("memory")
gc.freeze()
json.dump({path: answer(path) for path in sys.argv[1:]}, sys.stdout)
