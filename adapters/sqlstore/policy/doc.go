// Package policy stores policies and windows in SQL.
//
// The first row of policy_versions counts their changes. A unit that writes changes that row first, so that units that
// write wait for each other there and nowhere else.
package policy
