// Package pattern tells which hosts of an inventory a limit selects, by the host patterns of Ansible.
//
// It knows what Ansible's command line knows: lists by comma or colon, groups, hosts, wildcards, regular expressions
// after ~, intersection with &, exclusion with !, and subscripts. Tests compare it with the real command.
//
// It differs in three places. Regular expressions are RE2; one that is not is refused. A subscript behind a wildcard
// that fits several groups counts them from the root of the inventory downwards, where Ansible takes the order in
// which a file names them. The localhost that Ansible makes up where a play names it is none of the inventory.
package pattern
