// Package setup tests the scripts in its folder, which "make run" and "make test" use, and the first example of the
// guides.
package setup
