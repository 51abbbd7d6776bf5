// Package identity keeps accounts, tokens, teams, organizations and grants in SQL. Of a token's secret and of a
// password only hashes are here.
//
// # Rights
//
// Whatever changes rights first locks the one row of access_state, so such units run one after the other: what they
// read under the lock stays true until they commit, and versions are in the order of the commits. The names of what a
// version changed are kept in access_changes until ForgetChanges.
package identity
