// Package compose is the one place that knows every module and every adapter, and puts them together for a process.
package compose
