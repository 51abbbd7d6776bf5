// Package systemtest holds the stores of the system context to their contract.
package systemtest
