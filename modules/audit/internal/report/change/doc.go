// Package change makes the report of a change in one self-contained file: its runs in their order, who decided about
// them, and which of that can be proved.
package change
