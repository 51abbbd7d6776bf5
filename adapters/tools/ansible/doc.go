// Package ansible runs playbooks with ansible-playbook.
//
// Events of the hosts arrive over a separate pipe: a callback plugin, which this package contains and installs, writes
// one JSON record per line to an inherited descriptor. Printed text is never read as an event, and every record
// contains a nonce of the run. The user's own stdout callback still formats the log.
//
// Every control reaches ansible-playbook as one --flag=value argument. Extra variables are in a JSON file in which
// every string is marked unsafe, so that a value with braces is printed and never evaluated. A value that Ansible would
// read as a mark is refused.
//
// Ansible gets the secrets of credentials by files, which are removed as soon as it has read them, and by the ssh
// agent of the run.
//
// Settings that make a run faster or isolate it from other runs (pipelining, connection sharing in a directory of the
// run, temporary directories) are set by environment variables, and only if neither the project's ansible.cfg nor the
// run's own environment sets them.
package ansible
