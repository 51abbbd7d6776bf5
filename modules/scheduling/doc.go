// Package scheduling is the behaviour of what fires by itself.
package scheduling
