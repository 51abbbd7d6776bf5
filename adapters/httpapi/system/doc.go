// Package system serves the API of dead letters. Health and the doctor are in package ops.
package system
