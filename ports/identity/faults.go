package identity

import "github.com/writ-automation/writ/ports/fault"

// The faults of this context.
var (
	BadToken          = fault.Code{Name: "bad_token", Kind: fault.Unauthenticated}
	BadLogin          = fault.Code{Name: "bad_login", Kind: fault.Unauthenticated}
	BadSignIn         = fault.Code{Name: "bad_sign_in", Kind: fault.Unauthenticated}
	NotAllowed        = fault.Code{Name: "forbidden", Kind: fault.Forbidden}
	NoRole            = fault.Code{Name: "no_role", Kind: fault.Forbidden}
	TooManyAttempts   = fault.Code{Name: "too_many_attempts", Kind: fault.RateLimited}
	NameTaken         = fault.Code{Name: "name_taken", Kind: fault.Conflict}
	LinkTaken         = fault.Code{Name: "identity_taken", Kind: fault.Conflict}
	LastAdmin         = fault.Code{Name: "last_admin", Kind: fault.Conflict}
	OrgInUse          = fault.Code{Name: "org_in_use", Kind: fault.Conflict}
	GrantExists       = fault.Code{Name: "grant_exists", Kind: fault.Conflict}
	RevisionChanged   = fault.Code{Name: "precondition_failed", Kind: fault.Stale}
	TokenNotFound     = fault.Code{Name: "token_not_found", Kind: fault.NotFound}
	UserNotFound      = fault.Code{Name: "user_not_found", Kind: fault.NotFound}
	TeamNotFound      = fault.Code{Name: "team_not_found", Kind: fault.NotFound}
	OrgNotFound       = fault.Code{Name: "org_not_found", Kind: fault.NotFound}
	MemberNotFound    = fault.Code{Name: "member_not_found", Kind: fault.NotFound}
	GrantNotFound     = fault.Code{Name: "grant_not_found", Kind: fault.NotFound}
	ObjectNotFound    = fault.Code{Name: "object_not_found", Kind: fault.NotFound}
	HandshakeNotFound = fault.Code{Name: "handshake_not_found", Kind: fault.NotFound}
)

// Codes lists every fault of this context.
func Codes() []fault.Code {
	return []fault.Code{
		BadToken, BadLogin, BadSignIn, NotAllowed, NoRole, TooManyAttempts, NameTaken, LinkTaken, LastAdmin, OrgInUse,
		GrantExists, RevisionChanged, TokenNotFound, UserNotFound, TeamNotFound, OrgNotFound, MemberNotFound,
		GrantNotFound, ObjectNotFound, HandshakeNotFound,
	}
}
