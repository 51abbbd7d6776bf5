// Package register makes the change register of a period as one self-contained HTML file: every run and every change
// of the configuration in the audit trail, by day.
//
// Its boundary: a period, and the required licence.
package register
