// Package httpapitest serves routes of the HTTP API to their tests: a server with the middleware of the real one over
// fakes of everything that is beside the routes, a client, and checks of its answers.
//
// Who calls is named by the bearer token: viewer, operator and admin are the accounts of these roles, and every other
// token is unknown. What each may do is decided by the global rules of the matrix. Grants, teams and organizations
// are not played, since they are no task of a route.
package httpapitest
