// Package signin makes and ends sessions: by password, and for the users of outside providers. Only this package
// verifies passwords, and its throttle limits all of them.
//
// A session is stored under the lock under which passwords and roles change (AccountStore.LockAdmins), after the
// account was read again. So a change that ends all sessions also ends those that are being made.
//
// Each sign-in is recorded in its unit. A refused one is recorded in a unit of its own, whether or not the account
// exists; the throttle limits the number of these entries.
package signin
