// Package policyview words policies, and shows what a policy would have done to the runs of the past. The pages of
// policies and their editor share it.
package policyview
