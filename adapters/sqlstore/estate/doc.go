// Package estate stores what is kept of hosts, tasks and drift in SQL.
//
// Hosts and runs have short numbers, so that the rows that name them are small. estate_runs has the scope of each run,
// which decides who may read what came of it, also after the run was deleted.
package estate
