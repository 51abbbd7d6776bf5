// Package envelope encodes the secrets of a credential as one JSON document before they are sealed.
package envelope
