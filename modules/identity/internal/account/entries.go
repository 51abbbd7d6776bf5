package account

import (
	"slices"

	"github.com/writ-automation/writ/modules/identity/internal/kernel"
	"github.com/writ-automation/writ/modules/identity/internal/token"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/identity"
)

// created is the entry of a new account. It contains whether there is a profile, and the number of identities.
func created(a identity.Account) audit.Entry {
	detail := map[string]any{"role": string(a.Role), "password_set": a.HasPassword, "identities": len(a.Identities)}
	if !sameProfile(a.Profile, identity.Profile{}) {
		detail["profile"] = true
	}
	return audit.Entry{Action: audit.UserCreate, Object: kernel.User(a.User), Detail: detail}
}

// describe lists which members of an account changed, with the old and the new role.
func describe(old, changed identity.Account, password bool) map[string]any {
	detail := map[string]any{"role": string(changed.Role)}
	fields := []any{}
	add := func(differs bool, name string) {
		if differs {
			fields = append(fields, name)
		}
	}
	add(!sameLinks(old.Identities, changed.Identities), "identities")
	add(password, "password")
	add(!sameProfile(old.Profile, changed.Profile), "profile")
	add(old.Role != changed.Role, "role")
	add(old.Username != changed.Username, "username")
	detail["changed"] = fields
	if old.Role != changed.Role {
		detail["former_role"] = string(old.Role)
	}
	if password {
		detail["password_set"] = true
	}
	if !sameProfile(old.Profile, changed.Profile) {
		detail["profile"] = true
	}
	if !sameLinks(old.Identities, changed.Identities) {
		detail["identities"] = len(changed.Identities)
	}
	return detail
}

// deleted is the entry of a deleted account, with the tokens that ended.
func deleted(a identity.Account, ended identity.Ended) audit.Entry {
	detail := map[string]any{"role": string(a.Role)}
	token.AddEnded(detail, ended)
	return audit.Entry{Action: audit.UserDelete, Object: kernel.User(a.User), Detail: detail}
}

func sameProfile(a, b identity.Profile) bool {
	return a.FullName == b.FullName && a.Email == b.Email && a.Phone == b.Phone && a.Title == b.Title &&
		a.Notes == b.Notes && slices.Equal(a.Links, b.Links)
}

// sameLinks compares two sets, because the store keeps no order of identities.
func sameLinks(a, b []identity.Link) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(l identity.Link) bool { return !slices.Contains(b, l) })
}
