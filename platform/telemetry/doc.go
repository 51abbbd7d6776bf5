// Package telemetry holds the process's Prometheus registry and what can be measured without knowing any context: the
// process itself and its HTTP requests. No label ever carries text of a user.
package telemetry
