// Package policy stores policies in SQL.
//
// The only row of policy_versions counts their changes. A unit that writes changes that row first, so that units that
// write wait for each other there and nowhere else.
package policy
