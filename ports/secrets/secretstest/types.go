package secretstest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/secrets"
)

func typeCases() map[string]func(*testing.T, *env) {
	return map[string]func(*testing.T, *env){
		"no organization":                noOrganization,
		"a type that is held":            held,
		"a type that is used and goes":   heldGoes,
		"a type that is used and change": heldChanges,
	}
}

func noOrganization(t *testing.T, e *env) {
	s, org := types(e), e.addOrg(t)
	v := s.plain(e.record(s.prefix, "n"))
	v.Org = org
	e.must(t, func(ctx context.Context) error { return s.insert(ctx, v) })
	same(t, "stored", "", get(t, s, v.ID).Org)
	again := s.plain(e.record(s.prefix, "n"))
	again.Org = e.addOrg(t)
	e.refused(t, catalog.NameTaken, func(ctx context.Context) error { return s.insert(ctx, again) })
	e.must(t, func(ctx context.Context) error {
		got, err := s.update(ctx, v, 0)
		same(t, "changed", "", got.Org)
		return err
	})
}

func held(t *testing.T, e *env) {
	s := types(e)
	v := s.full(e.record(s.prefix, odd))
	e.must(t, func(ctx context.Context) error { return s.insert(ctx, v) })
	e.must(t, func(ctx context.Context) error {
		for range 2 {
			got, err := e.Types.LockType(ctx, v.ID)
			noError(t, err)
			same(t, "held", v, got)
		}
		return nil
	})
	for _, id := range []string{"cty_none", "", "%", odd} {
		e.refused(t, secrets.TypeNotFound, func(ctx context.Context) error {
			_, err := e.Types.LockType(ctx, id)
			return err
		})
	}
	if _, err := e.Types.LockType(t.Context(), v.ID); !fault.Is(err, fault.Internal) {
		t.Errorf("held outside of a unit: %v", err)
	}
	// Many units lock one type at once, and an ended unit blocks no other.
	e.wins(t, crowd, secrets.TypeNotFound, func(ctx context.Context, _ int) error {
		_, err := e.Types.LockType(ctx, v.ID)
		return err
	})
	e.must(t, func(ctx context.Context) error { return s.remove(ctx, v.ID, 1) })
	e.refused(t, secrets.TypeNotFound, func(ctx context.Context) error {
		_, err := e.Types.LockType(ctx, v.ID)
		return err
	})
}

// errUsed rolls back a change of a type that a credential uses.
var errUsed = errors.New("a credential is of the type")

// unused returns errUsed if a credential is of the type.
func (e *env) unused(ctx context.Context, id string) error {
	_, n, err := e.Credentials.ListCredentials(ctx, access.Everything(), secrets.Filter{TypeID: id}, page.Window{Limit: 1})
	if err == nil && n > 0 {
		err = errUsed
	}
	return err
}

// addOf locks a type and stores a credential of it.
func (e *env) addOf(ctx context.Context, id string) error {
	held, err := e.Types.LockType(ctx, id)
	if err != nil {
		return err
	}
	fields := map[string]any{}
	for _, f := range held.Fields {
		fields[f.Name] = "x"
	}
	c := secrets.Credential{Record: e.record(ids.Credential, ""), Kind: secrets.Custom, TypeID: id, Fields: fields}
	return e.Credentials.InsertCredential(ctx, c, nil)
}

// heldGoes checks that a type is deleted or has credentials, never both.
func heldGoes(t *testing.T, e *env) {
	s := types(e)
	for range 15 {
		v := add(t, e, s)
		var added [3]error
		var removed error
		together(len(added)+1, func(i int) {
			if i < len(added) {
				added[i] = e.do(t, func(ctx context.Context) error { return e.addOf(ctx, v.ID) })
				return
			}
			removed = e.do(t, func(ctx context.Context) error {
				return errors.Join(s.remove(ctx, v.ID, 0), e.unused(ctx, v.ID))
			})
		})
		n := 0
		for _, err := range added {
			if err == nil {
				n++
			} else if !secrets.TypeNotFound.Is(err) {
				t.Errorf("add: %v", err)
			}
		}
		_, err := s.byID(t.Context(), v.ID)
		if removed == nil {
			wantFault(t, err, secrets.TypeNotFound)
			same(t, "credentials of what is gone", 0, n)
			continue
		}
		if !errors.Is(removed, errUsed) {
			t.Errorf("remove: %v", removed)
		}
		noError(t, err)
		same(t, "credentials", len(added), n)
	}
}

// heldChanges checks that every credential fits the final type.
func heldChanges(t *testing.T, e *env) {
	s := types(e)
	for range 15 {
		v := s.plain(e.record(s.prefix, ""))
		v.Fields = []secrets.Field{{Name: "a", Type: secrets.Text}}
		e.must(t, func(ctx context.Context) error { return s.insert(ctx, v) })
		together(4, func(i int) {
			err := e.do(t, func(ctx context.Context) error {
				if i > 0 {
					return e.addOf(ctx, v.ID)
				}
				next := v
				next.Fields = []secrets.Field{{Name: "b", Type: secrets.Text}}
				_, err := s.update(ctx, next, 1)
				return errors.Join(err, e.unused(ctx, v.ID))
			})
			if err != nil && !errors.Is(err, errUsed) {
				t.Errorf("unit: %v", err)
			}
		})
		want := map[string]any{get(t, s, v.ID).Fields[0].Name: "x"}
		list := e.visible(t, access.Everything(), secrets.Filter{TypeID: v.ID})
		same(t, "credentials", 3, len(list))
		for _, c := range list {
			same(t, fmt.Sprint("fields of ", c.ID), want, c.Fields)
		}
	}
}
