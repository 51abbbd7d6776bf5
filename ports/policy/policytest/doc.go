// Package policytest tests implementations of the store of ports/policy against its contract.
package policytest
