// Package vault implements the engines for HashiCorp Vault and OpenBao. KV reads secrets of a KV engine of version 1 or
// 2. Dynamic creates a credential for one run and revokes its lease when the run has ended.
//
// Both log in with a token, or by AppRole at its usual mount auth/approle. A token of an AppRole login is revoked by
// auth/token/revoke-self once nothing depends on it, which Vault's policy "default" allows; a batch token cannot be
// revoked and expires. The policies also have to allow:
//
//   - KV, version 1: read on the path; version 2: read on MOUNT/data/NAME;
//   - Dynamic: read on the path, and update on sys/leases/revoke. Without the latter a lease of an AppRole login is
//     revoked with the token of that login, as long as the process lives that minted it, and a lease of a token only
//     ends with its TTL.
//
// A lease is a child of the token that created it and ends with it at the latest. While its run lasts it is renewed by
// sys/leases/renew, and the token of a login by auth/token/renew-self; the policy "default" allows both. The maximum
// TTL of both, and the TTL of a configured token, have to cover the longest run.
//
// The engines follow no redirect. Errors name the step that failed and the reason in words of this package, and repeat
// nothing of an answer.
package vault
