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
	"github.com/writ-automation/writ/ports/tx/txtest"
)

func typeCases() txtest.Cases[*env] {
	return txtest.Cases[*env]{
		"no organization":                noOrganization,
		"a type that is held":            held,
		"a type that is used and goes":   heldGoes,
		"a type that is used and change": heldChanges,
	}
}

func noOrganization(t *testing.T, e *env) {
	s, org := types(e), e.AddOrg(t)
	v := s.Plain(e.Record(s.Prefix, "n"))
	v.Org = org
	e.Must(t, func(ctx context.Context) error { return s.Insert(ctx, v) })
	txtest.Same(t, "stored", "", s.Get(t, v.ID).Org)
	again := s.Plain(e.Record(s.Prefix, "n"))
	again.Org = e.AddOrg(t)
	e.Refused(t, catalog.NameTaken, func(ctx context.Context) error { return s.Insert(ctx, again) })
	e.Must(t, func(ctx context.Context) error {
		got, err := s.Update(ctx, v, 0)
		txtest.Same(t, "changed", "", got.Org)
		return err
	})
}

func held(t *testing.T, e *env) {
	s := types(e)
	v := s.Full(e.Record(s.Prefix, odd))
	e.Must(t, func(ctx context.Context) error { return s.Insert(ctx, v) })
	e.Must(t, func(ctx context.Context) error {
		for range 2 {
			got, err := e.Types.LockType(ctx, v.ID)
			txtest.NoError(t, err)
			txtest.Same(t, "held", v, got)
		}
		return nil
	})
	for _, id := range []string{"cty_none", "", "%", odd} {
		e.Refused(t, secrets.TypeNotFound, func(ctx context.Context) error {
			_, err := e.Types.LockType(ctx, id)
			return err
		})
	}
	if _, err := e.Types.LockType(t.Context(), v.ID); !fault.Is(err, fault.Internal) {
		t.Errorf("held outside of a unit: %v", err)
	}
	// Many units lock one type at once, and an ended unit blocks no other.
	e.Wins(t, txtest.Crowd, secrets.TypeNotFound, func(ctx context.Context, _ int) error {
		_, err := e.Types.LockType(ctx, v.ID)
		return err
	})
	e.Must(t, func(ctx context.Context) error { return s.Remove(ctx, v.ID, 1) })
	e.Refused(t, secrets.TypeNotFound, func(ctx context.Context) error {
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
	c := secrets.Credential{Record: e.Record(ids.Credential, ""), Kind: secrets.Custom, TypeID: id, Fields: fields}
	return e.Credentials.InsertCredential(ctx, c, nil)
}

// heldGoes checks that a type is deleted or has credentials, never both.
func heldGoes(t *testing.T, e *env) {
	s := types(e)
	for range 15 {
		v := s.Add(t, e.Env)
		var added [3]error
		var removed error
		txtest.Together(len(added)+1, func(i int) {
			if i < len(added) {
				added[i] = e.Do(t, func(ctx context.Context) error { return e.addOf(ctx, v.ID) })
				return
			}
			removed = e.Do(t, func(ctx context.Context) error {
				return errors.Join(s.Remove(ctx, v.ID, 0), e.unused(ctx, v.ID))
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
		_, err := s.ByID(t.Context(), v.ID)
		if removed == nil {
			txtest.WantFault(t, err, secrets.TypeNotFound)
			txtest.Same(t, "credentials of what is gone", 0, n)
			continue
		}
		if !errors.Is(removed, errUsed) {
			t.Errorf("remove: %v", removed)
		}
		txtest.NoError(t, err)
		txtest.Same(t, "credentials", len(added), n)
	}
}

// heldChanges checks that every credential fits the final type.
func heldChanges(t *testing.T, e *env) {
	s := types(e)
	for range 15 {
		v := s.Plain(e.Record(s.Prefix, ""))
		v.Fields = []secrets.Field{{Name: "a", Type: secrets.Text}}
		e.Must(t, func(ctx context.Context) error { return s.Insert(ctx, v) })
		txtest.Together(4, func(i int) {
			err := e.Do(t, func(ctx context.Context) error {
				if i > 0 {
					return e.addOf(ctx, v.ID)
				}
				next := v
				next.Fields = []secrets.Field{{Name: "b", Type: secrets.Text}}
				_, err := s.Update(ctx, next, 1)
				return errors.Join(err, e.unused(ctx, v.ID))
			})
			if err != nil && !errors.Is(err, errUsed) {
				t.Errorf("unit: %v", err)
			}
		})
		want := map[string]any{s.Get(t, v.ID).Fields[0].Name: "x"}
		list := e.visible(t, access.Everything(), secrets.Filter{TypeID: v.ID})
		txtest.Same(t, "credentials", 3, len(list))
		for _, c := range list {
			txtest.Same(t, fmt.Sprint("fields of ", c.ID), want, c.Fields)
		}
	}
}
