// Package notifytest tests channels and the stores of deliveries and targets against their contract.
package notifytest
