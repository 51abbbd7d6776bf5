// Package ansible runs playbooks with ansible-playbook.
//
// What happens on the hosts comes back over a pipe of its own: a callback plugin, which this package carries and
// installs, writes one JSON record a line to an inherited descriptor. Nothing that a play prints is ever read as an
// event, and every record carries a nonce of the run. The log stays what the user's own stdout callback makes of it.
//
// Every control reaches ansible-playbook as one --flag=value argument. Extra variables go by a file in which every
// string is marked unsafe, so that a value with braces is printed and never evaluated.
//
// What credentials open a play with reaches Ansible by files, which are removed as soon as it has read them, and by
// the ssh agent of the run.
//
// Settings that make a run faster or keep it apart from other runs (pipelining, connection sharing in a directory of
// the run's own, temporary folders) are given by environment, and only where neither the project's ansible.cfg nor
// the run's own environment says otherwise.
package ansible
