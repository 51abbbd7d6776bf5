// Package audittest is what every implementation of the stores of ports/audit must do. An adapter calls Run with a
// function that opens fresh, empty stores; a custom store proves itself the same way.
package audittest
