// Package check validates policies, of the API and of files alike.
package check
