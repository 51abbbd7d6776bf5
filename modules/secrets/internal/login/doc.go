// Package login gives the catalog what its credentials say: what opens repositories, and what inventory sources use
// for a refresh.
package login
