// Package secrets is the contract of what is kept sealed: credentials and their types, what they put into a run, the
// engines behind them, and the encryption of all that rests in the database.
package secrets
