// Package system answers for the install as a whole: whether it is ready, and what in it is not as it should be.
package system
