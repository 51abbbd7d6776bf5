// Package ids makes the identifiers of records: a kind's prefix and a lower-case ULID.
package ids
