// Package estatetest tests implementations of the stores of ports/estate against their contract.
package estatetest
