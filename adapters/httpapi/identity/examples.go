package identity

import (
	"time"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/identity"
)

const (
	exampleUserID = "usr_01k0a0000vtx5zk9w2m4n6p8rs"
	exampleTeamID = "team_01k0a0002vtx5zk9w2m4n6p8rs"
	exampleSecret = "<API_TOKEN>"
)

func exampleUser() UserBody { return UserBody{ID: exampleUserID, Username: "alex", Role: "operator"} }

// Bodies with a password are maps, because a password prints as "***" even in the document.
func exampleLogin() map[string]string {
	return map[string]string{"username": "alex", "password": "<PASSWORD>"}
}

func exampleSession() SessionBody {
	return SessionBody{Token: exampleSecret, ExpiresAt: httpapi.ExampleTime().Add(12 * time.Hour), User: exampleUser()}
}

func exampleChecked() CheckedBody {
	until, user := httpapi.ExampleTime().Add(12*time.Hour), exampleUser()
	return CheckedBody{Valid: true, Kind: "session", ExpiresAt: &until, User: &user}
}

func exampleMe() MeBody {
	t := exampleToken()
	return MeBody{
		User: exampleUser(), Role: "operator", Token: &t, Teams: []OwnTeamBody{{ID: exampleTeamID, Name: "web"}},
		Orgs:        []OwnOrgBody{{ID: "org_01k0a0003vtx5zk9w2m4n6p8rs", Name: "retail", Role: "admin"}},
		Permissions: []string{"run:read", "run:submit"},
	}
}

func exampleMint() MintBody {
	year := int64(365 * 24 * 3600)
	return MintBody{Name: "deploy pipeline", ExpiresIn: &year, LimitsBody: exampleLimits()}
}

func exampleLimits() LimitsBody {
	return LimitsBody{Scopes: []string{"read", "launch"}, Networks: []string{"192.0.2.0/24"}}
}

func exampleToken() TokenBody {
	until := httpapi.ExampleTime().AddDate(1, 0, 0)
	return TokenBody{
		ID: "tok_01k0a0001vtx5zk9w2m4n6p8rs", Kind: "api", Name: "deploy pipeline", UserID: exampleUserID,
		Username:  exampleUser().Username,
		CreatedAt: httpapi.ExampleTime(), CreatedBy: exampleUserID, ExpiresAt: until, LimitsBody: exampleLimits(),
	}
}

func exampleMinted() MintedBody { return MintedBody{TokenBody: exampleToken(), Token: exampleSecret} }

func exampleNewAccount() map[string]any {
	return map[string]any{
		"username": "alex", "role": "operator", "password": "<A_LONG_PASSWORD>", "full_name": "Alex Example",
		"email": "alex@example.com", "links": []string{"https://example.com/alex"},
	}
}

func exampleChange() map[string]any {
	return map[string]any{"role": "admin", "full_name": "Alex Example", "email": "alex@example.com"}
}

func exampleAccount() AccountBody {
	return AccountBody{
		Stamps: httpapi.ExampleRecord(exampleUserID).Stamps, Username: "alex", Role: "operator",
		AccountState: AccountState{HasPassword: true},
		ProfileBody: ProfileBody{FullName: "Alex Example", Email: "alex@example.com",
			Links: []string{"https://example.com/alex"}},
		Identities: []LinkBody{{Protocol: "oidc", Issuer: "https://id.example.com", Subject: "248289761001"}},
	}
}

func exampleTeam() GroupBody {
	return GroupBody{ID: exampleTeamID, Name: "web", CreatedAt: httpapi.ExampleTime(), CreatedBy: exampleUserID}
}

func exampleOrg() GroupBody {
	return GroupBody{ID: "org_01k0a0003vtx5zk9w2m4n6p8rs", Name: "retail", CreatedAt: httpapi.ExampleTime(),
		CreatedBy: exampleUserID}
}

func exampleMember(role identity.OrgRole) MemberBody {
	return MemberBody{UserID: exampleUserID, Username: "alex", Role: role, AddedAt: httpapi.ExampleTime()}
}

func exampleNewGrant() NewGrantBody {
	return NewGrantBody{Subject: "team:" + exampleTeamID, Object: "queue:production", Level: "use"}
}

func exampleGrant() GrantBody {
	return GrantBody{
		ID: "grt_01k0a0004vtx5zk9w2m4n6p8rs", Subject: "team:" + exampleTeamID, Object: "queue:production", Level: "use",
		CreatedAt: httpapi.ExampleTime(), CreatedBy: exampleUserID,
	}
}
