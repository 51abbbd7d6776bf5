// Package secrets keeps credentials, their types and the leases of minted secrets in SQL. Of secrets there is the
// sealed form alone.
//
// # Types
//
// Who stores a credential holds the row of its type until the unit ends, and who changes or removes the type has it
// alone: asked behind such a change, the list of the credentials of a type is complete.
//
// # Leases
//
// When a lease is due is a time on the clock that leases are judged by. A lease of a run is due from the start and
// passed over as long as the run needs it, that of anything else is due an hour later; taking one moves the time on.
package secrets
