// Package check validates what requests contain about credentials. Its faults name members and contain no values.
package check
