// Package identitytest is what every implementation of the stores of ports/identity must do.
package identitytest
