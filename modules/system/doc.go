// Package system reports whether the install is ready, and which problems it has.
package system
