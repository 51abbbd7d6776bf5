// Package migrations holds the schema of the store, once for each engine. The two make the same tables, columns and
// indexes; only the structures of the full-text search differ.
package migrations

import "embed"

// FS holds the folders sqlite and postgres.
//
//go:embed sqlite/*.sql postgres/*.sql
var FS embed.FS
