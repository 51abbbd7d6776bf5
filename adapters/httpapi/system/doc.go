// Package system serves the API of dead letters and of extensions. Health and the doctor are in package ops.
package system
