// Package policy serves policies to people, who read them and manage them, and to workers over the relay.
package policy
