// Package compose imports every module and every adapter and assembles them into processes. No other package does.
package compose
