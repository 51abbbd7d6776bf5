// Package policy manages the rules that hold or deny requests for runs, and keeps those that are in force.
package policy
