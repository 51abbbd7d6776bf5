// Package envelope is the form that the secrets of a credential have before they are sealed: one JSON document.
package envelope
