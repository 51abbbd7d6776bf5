// Package help is the section of the web interface with the guides and the reference, which the binary holds.
package help
