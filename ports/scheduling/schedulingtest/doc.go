// Package schedulingtest tests the stores of ports/scheduling against their contract.
package schedulingtest
