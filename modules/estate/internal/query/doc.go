// Package query selects hosts by their facts: os.family=Debian and mounts./.free_gb<5. The guide host-queries has the
// grammar and the names.
package query
