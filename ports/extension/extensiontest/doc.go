// Package extensiontest provides the suites that test extensions against the contract of ports/extension: the built-in
// extensions run them, and those of other authors should too.
package extensiontest
