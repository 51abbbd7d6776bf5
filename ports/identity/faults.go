package identity

import (
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/fault"
)

// The faults of this context.
var (
	BadToken   = fault.Code{Name: "bad_token", Kind: fault.Unauthenticated}
	BadLogin   = fault.Code{Name: "bad_login", Kind: fault.Unauthenticated}
	BadSignIn  = fault.Code{Name: "bad_sign_in", Kind: fault.Unauthenticated}
	NotAllowed = access.NotAllowed
	NoRole     = fault.Code{Name: "no_role", Kind: fault.Forbidden}
	// RecentSignInRequired refuses what a stolen token must not do.
	RecentSignInRequired = fault.Code{Name: "recent_sign_in_required", Kind: fault.Forbidden}
	TooManyAttempts      = fault.Code{Name: "too_many_attempts", Kind: fault.RateLimited}
	NameTaken            = access.NameTaken
	LinkTaken            = fault.Code{Name: "identity_taken", Kind: fault.Conflict}
	LastAdmin            = fault.Code{Name: "last_admin", Kind: fault.Conflict}
	OrgInUse             = fault.Code{Name: "org_in_use", Kind: fault.Conflict}
	GrantExists          = fault.Code{Name: "grant_exists", Kind: fault.Conflict}
	RevisionChanged      = access.RevisionChanged
	TokenNotFound        = fault.Code{Name: "token_not_found", Kind: fault.NotFound}
	UserNotFound         = fault.Code{Name: "user_not_found", Kind: fault.NotFound}
	TeamNotFound         = fault.Code{Name: "team_not_found", Kind: fault.NotFound}
	OrgNotFound          = fault.Code{Name: "org_not_found", Kind: fault.NotFound}
	MemberNotFound       = fault.Code{Name: "member_not_found", Kind: fault.NotFound}
	GrantNotFound        = fault.Code{Name: "grant_not_found", Kind: fault.NotFound}
	ObjectNotFound       = access.ObjectNotFound
	HandshakeNotFound    = fault.Code{Name: "handshake_not_found", Kind: fault.NotFound}
)
