// Package check judges members of requests. Its faults name a member and hold no secret.
package check
