// Package catalogtest is what every implementation of the stores of ports/catalog must do.
package catalogtest
