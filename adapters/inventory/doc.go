// Package inventory fetches what inventory sources name: a document at an address, a file of a checkout, or what
// Ansible's own ansible-inventory makes of a script or a plugin.
package inventory
