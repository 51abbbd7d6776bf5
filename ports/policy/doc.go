// Package policy is the contract of the rules that hold or deny requests for runs.
//
// A policy is global: it applies to every run of the install. Every request is evaluated in the unit that stores the
// run, by the policies that are in force when that unit commits.
//
// A window says when runs may start. It is global too. Requests are evaluated by windows as by policies; runs that wait
// are asked about again when windows change.
package policy
