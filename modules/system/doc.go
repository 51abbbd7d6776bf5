// Package system answers for the install as a whole.
package system
