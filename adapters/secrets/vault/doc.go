// Package vault has the engines for HashiCorp Vault and OpenBao: KV reads what is kept in a KV engine of version 1 or
// 2, Dynamic has a credential made for one run, and revokes its lease when the run has ended.
//
// Both come in with a token, or by AppRole at its usual mount auth/approle. A token that a login made is taken back
// once nothing depends on it, by auth/token/revoke-self, which Vault's policy "default" allows; a batch token cannot
// be taken back and ends on its own. The policies have to allow beside that:
//
//   - KV, version 1: read on the path; version 2: read on MOUNT/data/NAME;
//   - Dynamic: read on the path, and update on sys/leases/revoke. Without the latter a lease of an AppRole login is
//     revoked with the token of that login, as long as the process lives that minted it, and a lease of a token only
//     ends with its TTL.
//
// A lease is a child of the token that it was made with and ends with it at the latest. As long as its run lasts it
// is renewed by sys/leases/renew, and the token of a login by auth/token/renew-self; the policy "default" allows
// both. The longest life that Vault gives to either, and that of a configured token, have to cover the longest run.
//
// No redirect is followed. Errors say which step failed and why, in words of this package: nothing that a server says
// is repeated.
package vault
