// Package systemtest tests the stores of the system context against their contract.
package systemtest
