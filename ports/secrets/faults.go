package secrets

import "github.com/writ-automation/writ/ports/fault"

// The faults of this context. The faults for taken names, changed revisions, objects in use and missing rights are
// those of the catalog.
var (
	// KeyLost is the fault of a secret whose key-encryption key this install does not have.
	KeyLost = fault.Code{Name: "key_lost", Kind: fault.Conflict}
	// CredentialNotFound is the fault of an unknown credential and of one that the caller may not read.
	CredentialNotFound = fault.Code{Name: "credential_not_found", Kind: fault.NotFound}
	// TypeNotFound is the fault of an unknown type of credentials.
	TypeNotFound = fault.Code{Name: "credential_type_not_found", Kind: fault.NotFound}
	// TypeInUse is the fault of a change of a type that does not fit its credentials.
	TypeInUse = fault.Code{Name: "credential_type_in_use", Kind: fault.Conflict}
	// Clash is the fault of credentials that a run cannot have together.
	Clash = fault.Code{Name: "credentials_clash", Kind: fault.Conflict}
	// SecretMissing is the fault of a credential that has no secret yet.
	SecretMissing = fault.Code{Name: "credential_without_secret", Kind: fault.Conflict}
	// Unresolved is the fault of a credential whose engine did not return the secret.
	Unresolved = fault.Code{Name: "secret_unresolved", Kind: fault.Conflict}
)
