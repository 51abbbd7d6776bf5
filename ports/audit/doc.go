// Package audit is the contract of the trail: what is recorded, and how anybody can check it who trusts neither the
// server nor its operators.
package audit
