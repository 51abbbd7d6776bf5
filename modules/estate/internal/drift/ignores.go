package drift

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/page"
)

// Bounds of a rule: bytes of its patterns, and characters of its reason.
const (
	maxHost   = 255
	maxReason = 2000
)

// Ignores implements estate.Ignores. Its callers check the role that writes rules.
type Ignores struct {
	object.Kernel
	Store estate.IgnoreStore
}

var _ estate.Ignores = (*Ignores)(nil)

// prepared refuses a rule that is not valid.
func (s *Ignores) prepared(i estate.Ignore) (estate.Ignore, error) {
	for _, p := range []struct {
		field, text string
		most        int
	}{{"host", i.Host, maxHost}, {"resource", i.Resource, estate.MaxResource}} {
		switch {
		case p.text == "" || len(p.text) > p.most || !utf8.ValidString(p.text) || strings.ContainsAny(p.text, "\x00\r\n"):
			return i, fault.BadField(p.field, "expected a line of 1 to %d bytes", p.most)
		case strings.Count(p.text, "*") > estate.MaxWildcards:
			return i, fault.BadField(p.field, "has more than %d *", estate.MaxWildcards)
		}
	}
	reason := strings.TrimSpace(i.Reason)
	if reason == "" || utf8.RuneCountInString(reason) > maxReason || !utf8.ValidString(reason) ||
		strings.Contains(reason, "\x00") {
		return i, fault.BadField("reason", "expected a text of 1 to %d characters", maxReason)
	}
	if !i.ExpiresAt.IsZero() && !i.ExpiresAt.After(s.Clock.Now()) {
		return i, fault.BadField("expires_at", "must be in the future")
	}
	i.Name, i.Reason, i.ExpiresAt = i.Host+" "+i.Resource, reason, i.ExpiresAt.UTC()
	return i, nil
}

func (s *Ignores) Create(ctx context.Context, i estate.Ignore) (estate.Ignore, error) {
	i, err := s.prepared(i)
	if err != nil {
		return estate.Ignore{}, err
	}
	s.Created(ctx, ids.DriftIgnore, &i.Record)
	err = s.Unit.Do(ctx, func(ctx context.Context) error {
		if err := s.Store.Insert(ctx, i); err != nil {
			return err
		}
		_, all, err := s.Store.List(ctx, "", page.Window{Limit: 1})
		if err != nil {
			return err
		}
		if all > estate.MaxIgnores {
			return estate.TooManyIgnores.New("an install has at most %d rules that ignore drift", estate.MaxIgnores)
		}
		return s.record(ctx, audit.DriftIgnoreCreate, i)
	})
	if err != nil {
		return estate.Ignore{}, err
	}
	s.Logged(ctx, "drift rule created", i.ID)
	return i, nil
}

func (s *Ignores) Get(ctx context.Context, id string) (estate.Ignore, error) {
	return s.Store.ByID(ctx, id)
}

func (s *Ignores) List(ctx context.Context, w page.Window) ([]estate.Ignore, int, error) {
	return s.Store.List(ctx, "", w)
}

func (s *Ignores) Update(
	ctx context.Context, id string, revision int64, i estate.Ignore,
) (out estate.Ignore, err error) {
	err = s.Retry(ctx, revision, func() error {
		out, err = s.update(ctx, id, revision, i)
		return err
	})
	if err != nil {
		return estate.Ignore{}, err
	}
	s.Logged(ctx, "drift rule changed", id)
	return out, nil
}

func (s *Ignores) update(
	ctx context.Context, id string, revision int64, i estate.Ignore,
) (out estate.Ignore, err error) {
	if i, err = s.prepared(i); err != nil {
		return out, err
	}
	was, err := s.Store.ByID(ctx, id)
	if err == nil {
		err = object.CheckRevision(revision, was.Record)
	}
	if err != nil {
		return out, err
	}
	s.Updated(was.Record, &i.Record)
	err = s.Unit.Do(ctx, func(ctx context.Context) error {
		if out, err = s.Store.Update(ctx, i, was.Revision); err != nil {
			return err
		}
		return s.record(ctx, audit.DriftIgnoreUpdate, out)
	})
	return out, err
}

func (s *Ignores) Delete(ctx context.Context, id string, revision int64) error {
	err := s.Unit.Do(ctx, func(ctx context.Context) error {
		was, err := s.Store.ByID(ctx, id)
		if err != nil {
			return err
		}
		if err := s.Store.Delete(ctx, id, revision); err != nil {
			return err
		}
		return s.Recorder.Record(ctx, object.Deleted(audit.DriftIgnoreDelete, was.Record))
	})
	if err == nil {
		s.Logged(ctx, "drift rule deleted", id)
	}
	return err
}

// record records a rule with its reason.
func (s *Ignores) record(ctx context.Context, a audit.Action, i estate.Ignore) error {
	d := object.Detail{"host": i.Host, "resource": i.Resource, "reason": i.Reason, "revision": int(i.Revision)}
	if !i.ExpiresAt.IsZero() {
		d["expires_at"] = i.ExpiresAt.Format(time.RFC3339)
	}
	return s.Recorder.Record(ctx, object.Entry(a, i.Record, d))
}
