// Package casbin implements the authorizer: it evaluates the matrix of ports/identity in casbin's model over an index
// of the stored rights in memory.
//
// casbin stores nothing, so no server decides by an outdated matrix. Everything that is not in the matrix is denied to
// all callers except admins. The index is loaded at the first decision, and is updated before a decision for a caller
// whose token was read after a change. If the update fails, the decision is a refusal. If the store has an older
// version than the index, the index is loaded again.
package casbin
