// Package hook takes what forges deliver.
//
// Nothing but the trigger of the token is looked up before a delivery has proven itself. What a delivery says reaches
// a run as data: a fixed set of members, each checked, in one variable.
package hook
