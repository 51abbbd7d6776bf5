// Package sealer seals secrets: each text under its own data key with AES-256-GCM, the data key under the
// key-encryption key of the install, and the record's name bound into both. The key-encryption key is stored outside of
// the database: in the data directory, in a file that the operator names, or in the environment.
package sealer
