// Package project keeps projects: who may change them, what is recorded of that, and what of their repositories is
// shown.
package project
