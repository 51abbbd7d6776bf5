// Package estate keeps what runs find on hosts, and answers what the fleet is, was and should be.
//
// It reads facts and results in the background, after the runs have stored them: what a run found is known here a
// moment later.
package estate
