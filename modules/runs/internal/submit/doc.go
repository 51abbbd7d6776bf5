// Package submit takes requests for runs and pipelines: it completes and validates them and stores the runs.
//
// A run keeps the settings of its request: later changes, such as those of a template, do not alter it.
package submit
