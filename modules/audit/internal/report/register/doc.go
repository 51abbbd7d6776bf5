// Package register makes the change register of a period: every run and every change of the configuration that the
// audit trail holds, by day, as one HTML file that needs nothing else.
//
// Its boundary: a period, and the licence that it takes.
package register
