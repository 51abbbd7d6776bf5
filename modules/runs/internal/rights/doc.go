// Package rights asks what the caller may do to runs, by the objects that they name.
package rights
