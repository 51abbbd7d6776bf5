// Package estate is the contract of what the fleet is, was and should be: facts of hosts at any instant, the results of
// hosts and tasks over their recent runs, changes made of several runs, and drift.
//
// The estate keeps what it needs of a run. Deleting the run changes nothing here: neither the data, nor who may read
// it. What a caller may not read is left out, and counted where a type says so.
package estate
