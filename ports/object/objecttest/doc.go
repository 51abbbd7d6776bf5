// Package objecttest holds the cases for the stores of named objects, which the suite of each context runs for its
// kinds.
package objecttest
