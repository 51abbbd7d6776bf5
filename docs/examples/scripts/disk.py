"""Fails when the root file system is fuller than extra_vars allows (limit, in percent, default 95)."""
import json
import os
import shutil
import sys

with open(os.environ["WRIT_VARS"], encoding="utf-8") as f:
    limit = float(json.load(f).get("limit", 95))

total, used, _ = shutil.disk_usage("/")
percent = 100 * used / total
print(f"the root file system is {percent:.1f} % full, at most {limit:.0f} % are fine")

with open(os.environ["WRIT_OUTPUTS"], "w", encoding="utf-8") as f:
    json.dump({"disk_percent": round(percent, 1)}, f)

sys.exit(0 if percent <= limit else 1)
