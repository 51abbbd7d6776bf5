// Package pack makes columns of what the store keeps whole and never looks into: documents as JSON, and compressed what comes in bulk,
// as logs, events and facts.
package pack
