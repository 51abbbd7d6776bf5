// Package audit checks the trail of what was done and by whom: it verifies the files that anybody can be handed,
// without a server, a database or a network.
package audit
