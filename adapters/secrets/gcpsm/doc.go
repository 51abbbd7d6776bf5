// Package gcpsm has the engine gcp_secretmanager: a version of a secret in Google Secret Manager, read with the
// application default credentials of the server. These are, in this order, the file that
// GOOGLE_APPLICATION_CREDENTIALS names, the file that `gcloud auth application-default login` writes, and the account
// that the metadata server of the machine gives (at GCE_METADATA_HOST where that is set). The account needs the role
// "Secret Manager Secret Accessor" on the secret.
//
// Whoever may store a credential of this engine reads every secret that the server's account may read. No redirect is
// followed, and nothing that a server says is part of an error but its status.
package gcpsm
