// Package policy is the contract of the rules that hold or deny requests for runs.
//
// A policy is global: it applies to every run of the install. Every request is evaluated in the unit that stores the
// run, by the policies that are in force when that unit commits.
package policy
