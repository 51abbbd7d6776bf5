// Package reserved lists the names of variables that steer a tool rather than a play or a script: how Ansible connects
// and becomes another user, and which code loaders and interpreters take from their environment.
//
// Variables come from users who may launch a template and no more, from the outputs of runs and from remote
// inventories. Each of these entrances asks this package. The list denies by default: every name that begins with
// ansible_ is reserved. The page docs/reference/reserved-names.md prints the list.
package reserved
