// Package audittest tests implementations of the stores of ports/audit: an adapter calls Run with a function that opens
// fresh, empty stores. Its Recorder is a fake for the tests of contexts that record entries.
package audittest
