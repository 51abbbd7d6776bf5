// Package crontime computes the times of the cron expressions of other products, each by its own rules. It shares no
// code with the schedules of the server, so that the two can be compared.
package crontime
