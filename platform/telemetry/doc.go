// Package telemetry holds the process's Prometheus registry and the metrics that do not depend on a context: the
// process itself and its HTTP requests. No label contains text of a user.
package telemetry
