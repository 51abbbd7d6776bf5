package drift

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/platform/ids"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/audit/audittest"
	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/fault"
	portids "github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/page"
)

// oneRule is a store of one rule.
type oneRule struct {
	estate.IgnoreStore
	kept  estate.Ignore
	total int
}

func (s *oneRule) Insert(_ context.Context, i estate.Ignore) error {
	s.kept = i
	return nil
}
func (s *oneRule) ByID(context.Context, string) (estate.Ignore, error) { return s.kept, nil }
func (s *oneRule) List(context.Context, string, page.Window) ([]estate.Ignore, int, error) {
	return []estate.Ignore{s.kept}, s.total, nil
}

func (s *oneRule) Update(_ context.Context, i estate.Ignore, revision int64) (estate.Ignore, error) {
	s.kept, s.kept.Revision = i, revision+1
	return s.kept, nil
}
func (s *oneRule) Delete(context.Context, string, int64) error { return nil }

func newIgnores(s *oneRule, r audit.Recorder) *Ignores {
	w := &fixture{}
	return &Ignores{
		Kernel: object.Kernel{Unit: w, Clock: w, IDs: ids.New(w), Log: slog.New(slog.DiscardHandler), Recorder: r},
		Store:  s,
	}
}

// TestRules writes rules that are valid and others.
func TestRules(t *testing.T) {
	t.Parallel()
	now := (&fixture{}).Now()
	good := estate.Ignore{Host: "web*", Resource: "file /a", Reason: " why ", ExpiresAt: now.Add(time.Second)}
	s, trail := &oneRule{total: 1}, &audittest.Recorder{FillBy: true}
	b := newIgnores(s, trail)
	made, err := b.Create(t.Context(), good)
	if err != nil || made.Name != "web* file /a" || made.Reason != "why" || !portids.Valid(portids.DriftIgnore, made.ID) {
		t.Fatalf("%+v, %v", made, err)
	}
	good.ExpiresAt = time.Time{}
	if made, err = b.Update(t.Context(), made.ID, made.Revision, good); err != nil || made.Revision != 2 {
		t.Errorf("%+v, %v", made, err)
	}
	if _, err := b.Update(t.Context(), made.ID, 1, good); !access.RevisionChanged.Is(err) {
		t.Errorf("an old revision: %v", err)
	}
	if err := b.Delete(t.Context(), made.ID, 0); err != nil {
		t.Error(err)
	}
	var actions []audit.Action
	for _, e := range trail.Entries() {
		actions = append(actions, e.Action)
		if e.Action != audit.DriftIgnoreDelete && (e.Detail["reason"] != "why" || e.Detail["host"] != "web*") {
			t.Errorf("%+v", e)
		}
	}
	if len(actions) != 3 || actions[0] != audit.DriftIgnoreCreate || actions[1] != audit.DriftIgnoreUpdate ||
		actions[2] != audit.DriftIgnoreDelete {
		t.Errorf("%v", actions)
	}
	for field, change := range map[string]func(*estate.Ignore){
		"host": func(i *estate.Ignore) { i.Host = "" }, "resource": func(i *estate.Ignore) { i.Resource = "a\nb" },
		"host ":      func(i *estate.Ignore) { i.Host = strings.Repeat("x", 256) },
		"host  ":     func(i *estate.Ignore) { i.Host = strings.Repeat("*a", estate.MaxWildcards+1) },
		"resource ":  func(i *estate.Ignore) { i.Resource = "\xff" },
		"reason":     func(i *estate.Ignore) { i.Reason = "  " },
		"reason ":    func(i *estate.Ignore) { i.Reason = strings.Repeat("é", maxReason+1) },
		"expires_at": func(i *estate.Ignore) { i.ExpiresAt = now },
	} {
		bad := good
		change(&bad)
		_, err := b.Create(t.Context(), bad)
		_, again := b.Update(t.Context(), made.ID, 0, bad)
		for _, err := range []error{err, again} {
			if f, ok := err.(*fault.Error); !ok || f.Kind != fault.Invalid || f.Fields[0].Location != strings.TrimSpace(field) {
				t.Errorf("%s: %v", field, err)
			}
		}
	}
	s.total = estate.MaxIgnores + 1
	if _, err := b.Create(t.Context(), good); !estate.TooManyIgnores.Is(err) {
		t.Errorf("too many: %v", err)
	}
}
