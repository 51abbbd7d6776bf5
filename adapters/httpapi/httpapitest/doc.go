// Package httpapitest serves routes of the HTTP API to their tests: a server with the real middleware over fakes of
// everything else, a client, and checks of its answers.
//
// The bearer token names the caller: viewer, operator and admin are the accounts of these roles, and every other token
// is unknown. The global rules of the matrix decide the rights of each. There are no grants, teams and organizations,
// since routes do not depend on them.
package httpapitest
