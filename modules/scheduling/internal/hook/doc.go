// Package hook receives the deliveries of forges.
//
// Before a delivery is authenticated only the trigger of its token is read. Its content reaches a run as data: a fixed
// set of fields, each checked, in one variable.
package hook
