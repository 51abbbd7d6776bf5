// Package plan plans the deliveries of a run that ended or is held, and records which targets are skipped and why.
package plan
