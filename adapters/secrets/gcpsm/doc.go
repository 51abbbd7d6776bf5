// Package gcpsm implements the engine gcp_secretmanager. It reads a version of a secret in Google Secret Manager with
// the application default credentials of the server. These are, in this order, the file of
// GOOGLE_APPLICATION_CREDENTIALS, the file that `gcloud auth application-default login` writes, and the account from
// the metadata server of the machine (at GCE_METADATA_HOST if that is set). The account needs the role "Secret Manager
// Secret Accessor" on the secret.
//
// A caller who may store a credential of this engine can read every secret that the server's account may read. The
// engine follows no redirect. Its errors contain nothing of an answer but the status.
package gcpsm
