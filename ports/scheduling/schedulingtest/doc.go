// Package schedulingtest is the suite that holds an implementation of the stores of ports/scheduling to their contract.
package schedulingtest
