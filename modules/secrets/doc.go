// Package secrets stores credentials and their types sealed, and opens them for the runs that use them.
package secrets
