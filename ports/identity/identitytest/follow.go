package identitytest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/tx/txtest"
)

const (
	writers = 8
	changes = 8 // per writer
)

// stage holds the objects of concurrent writers: each has its own account and object and shares the rest.
type stage struct {
	users, objects []string
	team           string
	shared         string
}

func (e *env) stage(t *testing.T) stage {
	s := stage{team: e.addTeam(t).ID, shared: e.addObject(t, ids.Template, "")}
	for range writers {
		s.users = append(s.users, e.addAccount(t).ID)
		s.objects = append(s.objects, e.addObject(t, ids.Project, ""))
	}
	return s
}

// change is the n-th unit of a writer. Each one changes the stored state.
func (e *env) change(ctx context.Context, s stage, writer, n int, g identity.Grant) error {
	switch n % 4 {
	case 0, 1:
		_, err := e.Grants.InsertGrant(ctx, g)
		return err
	case 2:
		_, err := e.Teams.AddTeamMember(ctx, s.team, s.users[writer], epoch)
		return err
	default:
		return e.Teams.RemoveTeamMember(ctx, s.team, s.users[writer])
	}
}

// stageGrant returns the n-th grant of a writer: every fourth is on its own object, the next one on the shared object.
func (e *env) stageGrant(s stage, writer, n int) identity.Grant {
	object := s.objects[writer]
	if n%4 == 1 {
		object = s.shared
	}
	return e.grant(identity.UserSubject(s.users[writer]), object,
		[]access.Level{access.Read, access.Use, access.Manage}[n/4%3])
}

// rightsFollowed: the changes of all versions, in the order of the commits, add up to the complete rights.
func rightsFollowed(t *testing.T, e *env) {
	s := e.stage(t)
	m := e.load(t)
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for n := range changes {
				g := e.stageGrant(s, w, n)
				if err := e.Unit.Do(t.Context(), func(ctx context.Context) error { return e.change(ctx, s, w, n, g) }); err != nil {
					t.Errorf("change %d of writer %d: %v", n, w, err)
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	for open := true; open; {
		select {
		case <-done:
			open = false
		default:
		}
		e.follow(t, m)
	}
	same(t, "version", e.version(t, s.users[0]), m.version)
	all := e.load(t)
	same(t, "rights", all.state, m.state)
	if got := len(all.state.Objects[s.shared].Grants); got != writers*changes/4 {
		t.Errorf("the shared object has %d grants", got)
	}
}

// rightsReadYourWrites: a reader of a version gets every change that was committed before it was read.
func rightsReadYourWrites(t *testing.T, e *env) {
	s := e.stage(t)
	start := e.load(t).version
	txtest.Together(writers, func(w int) {
		version := start
		for n := range changes {
			if n%4 > 1 {
				continue
			}
			r, known, err := e.granted(t.Context(), e.stageGrant(s, w, n), s.users[w], version)
			if err != nil {
				t.Errorf("writer %d: %v", w, err)
				return
			}
			if known <= version || r.Version < known {
				t.Errorf("writer %d: since version %d is told up to %d, and %d is known", w, version, r.Version, known)
			}
			version = r.Version
		}
	})
}

// granted stores a grant, reads the version, and returns the changes since an older one. It returns an error if they
// lack the grant.
func (e *env) granted(
	ctx context.Context, g identity.Grant, user string, version int64,
) (r identity.Rights, known int64, err error) {
	err = e.Unit.Do(ctx, func(ctx context.Context) error {
		_, err := e.Grants.InsertGrant(ctx, g)
		return err
	})
	if err != nil {
		return r, 0, fmt.Errorf("grant: %w", err)
	}
	caller, err := e.Callers.Caller(ctx, user, "")
	if err != nil {
		return r, 0, fmt.Errorf("read the caller: %w", err)
	}
	known = caller.Version
	r, ok, err := e.Rights.RightsSince(ctx, version)
	if err != nil || !ok {
		return r, 0, fmt.Errorf("rights since %d: %t, %w", version, ok, err)
	}
	for _, o := range r.Objects {
		if o.Object == g.Object && slices.Contains(o.Grants, identity.SubjectLevel{Subject: g.Subject, Level: g.Level}) {
			return r, known, nil
		}
	}
	return r, 0, fmt.Errorf("since %d nobody tells of %s on %s: %+v", version, g.Level, g.Object, r)
}
