// Package paper makes documents for people: one HTML file that loads nothing and runs nothing, in which text from
// outside is seen for what it is.
//
// Its boundary: text and templates, and nothing of the trail.
package paper
