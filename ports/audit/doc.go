// Package audit is the contract of the trail: what is recorded, and how readers can check it without trust in the
// server or its operators.
package audit
