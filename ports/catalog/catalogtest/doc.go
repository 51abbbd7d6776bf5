// Package catalogtest is the contract test for implementations of the stores of ports/catalog.
package catalogtest
