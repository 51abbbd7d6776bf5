// Package system serves the messages that a subscriber did not handle. Health and the doctor are in package ops.
package system
