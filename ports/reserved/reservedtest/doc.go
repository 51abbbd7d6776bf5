// Package reservedtest has the names with which tests of every entrance try the list of package reserved.
package reservedtest
