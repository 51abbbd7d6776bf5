// Package audit stores the audit trail's chain in SQL, with its erasable parts, its tiles, its anchors and the
// identity of the install.
//
// The one row of audit_head is the end of the chain. A writer locks it from Lock to the commit, so units link one
// after the other across all processes; no state of the chain is cached. Rows of audit_entries are only added and
// read. The erasable parts are in audit_private, so an erasure changes no hashed data.
package audit
