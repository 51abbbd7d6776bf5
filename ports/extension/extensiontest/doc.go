// Package extensiontest holds the suites that prove an extension keeps the contract of ports/extension: the built-in
// ones run them, and so should those of an extension's author.
package extensiontest
