// Package look looks at every page of the interface in a browser, on the demo: accessibility, narrow screens, pictures.
// "make test-ui" runs it, and "make screenshots" writes the pictures.
package look
