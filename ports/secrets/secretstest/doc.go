// Package secretstest is what every implementation of the stores of ports/secrets must do.
package secretstest
