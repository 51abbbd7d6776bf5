// Package audit keeps the audit trail's chain in SQL, with what can be erased of it, its tiles, its anchors and who
// the install is.
//
// The one row of audit_head is the end of the chain. Whoever appends holds it from Lock to the commit, so units link
// one after the other, whichever process they are in; nothing about the chain is kept in memory. Rows of
// audit_entries are added and read. What can be erased lies in audit_private, so that erasing touches nothing that is
// hashed.
package audit
