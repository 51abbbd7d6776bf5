// Package azurekv implements the engine azure_keyvault. It reads the newest enabled version of a secret in Azure Key
// Vault as an application with a client secret. The application needs the role "Key Vault Secrets User" on the secret,
// or the access policy get for secrets.
//
// The defaults are those of the public cloud. The engine follows no redirect. Its errors contain nothing of an answer
// but the status and the codes of OAuth.
package azurekv
