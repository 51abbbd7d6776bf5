// Package identity stores accounts, tokens, teams, organizations and grants in SQL. It stores only hashes of tokens
// and passwords.
//
// # Rights
//
// Each change of rights first locks the one row of access_state, so such units run one after the other: their reads
// under the lock stay valid until they commit, and versions are in the order of the commits. The table access_changes
// holds the names that each version changed until ForgetChanges deletes them.
package identity
