// Package awssm has the engine aws_secretsmanager: the current version of a secret in AWS Secrets Manager, read with
// an access key of the config or with what the server's standard environment gives: the variables AWS_*, the shared
// files of AWS, web identities, and the roles of containers and instances. Its identity needs
// secretsmanager:GetSecretValue on the secret, and kms:Decrypt where the secret has a key of the own.
//
// Whoever may store a credential of this engine reads, without an access key, every secret that the server's own
// identity may read. No redirect is followed, and nothing that a server says is part of an error but its status and
// the codes that AWS documents.
package awssm
