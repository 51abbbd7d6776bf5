// Package secretstest tests implementations of the stores of ports/secrets against their contract.
package secretstest
