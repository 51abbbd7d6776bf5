// Package policy serves policies and windows to people, who read them and manage them, and to workers over the relay.
package policy
