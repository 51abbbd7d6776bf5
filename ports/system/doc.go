// Package system is the contract for the install as a whole: its health, its version and the findings of the doctor.
package system
