// Package azurekv has the engine azure_keyvault: the newest enabled version of a secret in Azure Key Vault, read as
// an application with its client secret. The application needs the role "Key Vault Secrets User" on the secret, or
// the access policy get for secrets.
//
// The defaults are those of the public cloud. No redirect is followed, and nothing that a server says is part of an
// error but its status and the codes of OAuth.
package azurekv
