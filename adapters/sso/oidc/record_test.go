package oidc_test

import (
	"context"
	"errors"
	"net/url"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/tx"
)

// notes records what commits.
type notes struct {
	mu   sync.Mutex
	kept []audit.Entry
	lost error // the error of Record
}

func (n *notes) Record(ctx context.Context, e audit.Entry) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.lost != nil {
		return n.lost
	}
	return tx.BeforeCommit(ctx, tx.Last, n, e, func(ctx context.Context, list []audit.Entry) error {
		tx.OnCommit(ctx, func() {
			n.mu.Lock()
			defer n.mu.Unlock()
			n.kept = append(n.kept, list...)
		})
		return nil
	})
}

func (n *notes) take() []audit.Entry {
	n.mu.Lock()
	defer n.mu.Unlock()
	list := n.kept
	n.kept = nil
	return list
}

// TestRefusalsAreRecorded: a refused answer that uses up a handshake has one entry, which contains nothing of the
// answer. Other answers have none.
func TestRefusalsAreRecorded(t *testing.T) {
	t.Parallel()
	bad := false
	s := newSite(t, open(t), func(i *idp) {
		i.payload = func(o object) {
			if bad {
				o["nonce"] = "c4nary"
			}
		}
	}, nil)
	refuse := func(on bool) { s.idp.change(func() { bad = on }) }
	none := func(what string, err error, wanted func(error) bool) {
		t.Helper()
		if list := s.trail.take(); !wanted(err) || len(list) != 0 {
			t.Errorf("%s: %v, %+v", what, err, list)
		}
	}
	c := s.begin(t)
	answer := s.visit(t, c)
	for what, v := range map[string]url.Values{
		"nothing": {}, "no code": {"state": answer["state"]}, "made up": {"state": {"c4nary"}, "code": {"c4nary"}},
		"the provider's refusal": {"state": answer["state"], "error": {"access_denied"}},
	} {
		_, err := s.Complete(t.Context(), v, c.Binding, false)
		none(what, err, identity.BadSignIn.Is)
	}
	_, err := s.Complete(t.Context(), answer, c.Binding, false)
	none("a good one", err, func(err error) bool { return err == nil })
	_, err = s.Complete(t.Context(), answer, c.Binding, false)
	none("again", err, identity.BadSignIn.Is)

	want := []audit.Entry{{Action: audit.AuthLogin, Outcome: audit.Denied,
		Detail: map[string]any{"method": "oidc", "reason": "bad_sign_in"}}}
	c = s.begin(t)
	_, err = s.Complete(t.Context(), s.visit(t, c), "another", false)
	if diff := cmp.Diff(want, s.trail.take()); diff != "" || !identity.BadSignIn.Is(err) {
		t.Errorf("from another browser: %v %s", err, diff)
	}
	refuse(true)
	_, err = s.signIn(t)
	if diff := cmp.Diff(want, s.trail.take()); diff != "" || !identity.BadSignIn.Is(err) {
		t.Errorf("a bad token: %v %s", err, diff)
	}
	for _, lost := range []error{audit.Unrecorded.New("full"), errors.New("a defect")} {
		s.trail.mu.Lock()
		s.trail.lost = lost
		s.trail.mu.Unlock()
		who, err := s.signIn(t)
		if !audit.Unrecorded.Is(err) || !errors.Is(err, lost) || who.Username != "" {
			t.Errorf("unrecorded: %v", err)
		}
		s.wantNoSecret(t, err.Error()+s.log.String())
	}
}
