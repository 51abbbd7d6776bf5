// Package pattern selects the hosts of an inventory with Ansible's host patterns.
//
// It supports the syntax of Ansible's command line: lists by comma or colon, groups, hosts, wildcards, regular
// expressions after ~, intersection with &, exclusion with !, and subscripts. Tests compare it with the real command.
//
// It differs in three ways. Regular expressions are RE2; others are refused. A subscript after a wildcard that matches
// several groups counts them from the root of the inventory downwards, while Ansible uses their order in the file. The
// implicit localhost of Ansible is not part of the inventory.
package pattern
