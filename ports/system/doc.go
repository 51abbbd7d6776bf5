// Package system is the contract of what concerns the install as a whole: its health, its version and what the doctor
// finds.
package system
