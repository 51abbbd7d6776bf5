// Package identitytest tests the stores of ports/identity against their contract.
package identitytest
