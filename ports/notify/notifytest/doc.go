// Package notifytest holds stores of deliveries and of targets to their contract.
package notifytest
