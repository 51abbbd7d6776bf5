// Package ask is the page on which a language model is asked about the fleet, and proposes runs.
package ask
