// Package inject says what one opened credential puts into a run, and what several put into it together. It asks
// nobody and keeps nothing.
package inject
