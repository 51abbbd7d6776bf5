// Package account creates, changes and deletes accounts, and defines valid user names, passwords and profiles.
//
// A user name has 1 to 64 characters: letters and digits of any script and . _ @ + -, the first one a letter, a digit
// or _. It is compared as it is stored, so that Ann and ann are two accounts.
package account
