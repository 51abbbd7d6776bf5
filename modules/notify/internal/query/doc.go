// Package query tells who heard of a run to those who may read it.
package query
