// Package secrets stores credentials, their types and the leases of minted secrets in SQL. It stores secrets only in
// sealed form.
//
// # Types
//
// A unit that stores a credential holds a shared lock on the row of its type until it ends. A unit that changes or
// deletes the type holds an exclusive lock, so that its list of the type's credentials is complete.
//
// # Leases
//
// The time when a lease is due uses the clock of the leases. The lease of a run is due from the start and is skipped
// while the run needs it. Any other lease is due an hour later. Taking a lease moves its time on.
package secrets
