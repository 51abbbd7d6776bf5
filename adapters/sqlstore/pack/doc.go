// Package pack compresses what comes in bulk, as logs, events and facts, and what the store never looks into.
package pack
