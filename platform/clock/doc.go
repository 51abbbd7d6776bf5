// Package clock is the one place that reads the machine's clocks.
package clock
