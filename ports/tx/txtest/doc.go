// Package txtest holds what the suites of stores share: their groups of cases, units of work, races and comparisons.
package txtest
