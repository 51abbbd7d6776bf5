// Package sshkey reads private keys in every form that OpenSSH and OpenSSL write: OpenSSH's own, and PEM of PKCS #1,
// PKCS #8 and SEC 1, each encrypted or not. It returns them in OpenSSH's form without encryption.
package sshkey
