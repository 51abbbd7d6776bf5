// Package targets keeps what of notification targets is secret: addresses and keys are sealed and stored once, and
// records hold masks with a reference to them.
package targets
