// Package pack compresses bulk data that the store never queries: logs, events and facts.
package pack
