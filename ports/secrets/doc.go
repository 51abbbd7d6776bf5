// Package secrets is the contract of sealed data: credentials and their types, their use in runs, the engines that
// provide secrets, and the encryption of secrets in the database.
package secrets
