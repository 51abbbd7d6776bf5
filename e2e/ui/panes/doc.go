// Package panes tests the matrix and the log of a run in Chromium, against the real binary.
package panes
