// Package throttle bounds how fast passwords can be guessed: ten failures in a minute of one account from one address,
// a hundred from one address. An attempt counts from its beginning, so that parallel ones cannot exceed a bound, and
// is taken back where it turns out to be none.
//
// It bounds as well how often an address begins what takes no password: a hundred times in a minute, counted apart.
//
// A count is of this process alone and lives in memory. Nobody is locked out: the same account stays open to every
// other address.
package throttle
