// Package signin makes and ends sessions: by password, and for whom an outside provider vouches for.
//
// A session is stored under the same lock under which passwords and roles change (AccountStore.LockAdmins), after the
// account was read anew: no session that was under way outlives the change that ends all the others.
//
// Each sign-in has its entry in the trail with it. One that was judged and refused has an entry in a unit of its own,
// whether the account is known or not; the throttle bounds how many of those there are.
package signin
