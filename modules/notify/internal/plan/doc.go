// Package plan writes down, when a run ended or is held, who is to hear of it, and who is not and why.
package plan
