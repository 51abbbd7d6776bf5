// Package check judges what requests say of credentials. Its faults name members and hold no value of one.
package check
