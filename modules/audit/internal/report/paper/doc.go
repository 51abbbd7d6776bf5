// Package paper makes documents for people: one HTML file without scripts and external resources, which shows hidden
// characters of outside text.
//
// Its boundary: text and templates, nothing of the trail.
package paper
