// Package compare holds two runs beside each other. It reads nothing.
package compare
