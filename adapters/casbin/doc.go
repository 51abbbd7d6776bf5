// Package casbin decides who may do what: the matrix of ports/identity in casbin's model, asked about an index of the
// stored rights in memory.
//
// casbin stores nothing, so that no server decides by an old matrix. What is not in the matrix is denied to everybody
// but an admin. The index reads the store at the first need, and catches up with what changed before it decides for a
// caller whose token was read after the change. While it cannot, it decides nothing, which is a refusal. A store that
// knows less than the index replaces it.
package casbin
