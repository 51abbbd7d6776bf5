// Package awssm implements the engine aws_secretsmanager. It reads the current version of a secret in AWS Secrets
// Manager with an access key of the config, or with the identity of the server's environment: the variables AWS_*, web
// identities, the shared files of AWS, and the roles of containers and instances. The identity needs
// secretsmanager:GetSecretValue on the secret, and kms:Decrypt if the secret has its own key.
//
// A caller who may store a credential of this engine can read, without an access key, every secret that the server's
// own identity may read. The engine follows no redirect. Its errors contain nothing of an answer but the status and
// the codes that AWS documents.
package awssm
