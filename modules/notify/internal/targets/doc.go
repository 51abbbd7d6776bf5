// Package targets seals the secret parts of notification targets: addresses and keys are sealed and stored once, and
// records contain masks with a reference to them.
package targets
