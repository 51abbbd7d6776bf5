"""Answers which hosts each pattern selects, by the code behind ansible --list-hosts.

The first argument is an inventory; standard input has a JSON list of patterns, standard output a JSON list of answers.
"""

import json
import sys

from ansible.errors import AnsibleError
from ansible.inventory.manager import InventoryManager
from ansible.parsing.dataloader import DataLoader


def main():
    manager = InventoryManager(loader=DataLoader(), sources=[sys.argv[1]])
    answers = []
    for pattern in json.load(sys.stdin):
        try:
            manager.subset(pattern or None)
            hosts = sorted(h.name for h in manager.get_hosts("all"))
            answers.append({"hosts": hosts, "refused": False})
        except AnsibleError:
            answers.append({"hosts": [], "refused": True})
    json.dump(answers, sys.stdout)


main()
