// Package sealer keeps secrets sealed: each text under a data key of its own with AES-256-GCM, the data key beside it
// under the key-encryption key of the install, and the record's name bound into both. The key-encryption key rests
// outside of the database: in the data directory, in a file that the operator names, or in the environment.
package sealer
