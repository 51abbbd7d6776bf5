// Package sweep is what happens to runs without anybody asking: the ones that lost their holder are taken back or
// ended, and what retention no longer wants is dropped.
package sweep
