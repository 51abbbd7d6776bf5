package audit_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/platform/clock"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/proof/checkpoint"
	"github.com/writ-automation/writ/ports/proof/keys"
)

// newest returns the newest head after the caches have expired.
func (p *process) newest(t *testing.T, s *site) string {
	t.Helper()
	s.clock.later(2 * time.Second)
	note, err := p.Heads.Newest(t.Context())
	must(t, err)
	return note
}

func TestTheNewestHeadIsPublished(t *testing.T) {
	t.Parallel()
	eachSite(t, func(t *testing.T, s *site) {
		p, keyless := s.starts(t), s.joins(t, nil)
		if note := p.newest(t, s); note != "" {
			t.Errorf("before one is kept: %q", note)
		}
		p.to(t, 5)
		first := p.newest(t, s)
		second := p.to(t, 9)
		if now, err := p.Heads.Newest(t.Context()); now != first || err != nil {
			t.Errorf("the store is asked again at once: %v", err)
		}
		if a, b := p.newest(t, s), keyless.newest(t, s); a != second || b != second {
			t.Errorf("told are\n%s\n%s", a, b)
		}
		// A head that only the database contains is not given to workers.
		var root [32]byte
		junk := audit.Anchor{ID: "anc_junk", Kind: audit.KindCheckpoint, Epoch: 1, Size: 1 << 50, Root: root,
			MadeAt: time.Now()}
		junk.Note = strings.Replace(second, "\n9\n", fmt.Sprintf("\n%d\n", junk.Size), 1)
		must(t, p.d.Do(t.Context(), func(ctx context.Context) error { return p.store.PutAnchor(ctx, junk) }))
		if a, b := p.newest(t, s), keyless.newest(t, s); a != second || b != second {
			t.Errorf("told are\n%s\n%s", a, b)
		}
	})
}

// TestHeadsThatAreSatisfied stores few of them, however many workers show them and how often.
func TestHeadsThatAreSatisfied(t *testing.T) {
	t.Parallel()
	eachSite(t, func(t *testing.T, s *site) {
		s.clock.still = clock.New().Now() // the intervals below do not include how long the machine takes
		p := s.starts(t)
		sizes := func(want string) {
			t.Helper()
			got := ""
			for _, a := range p.presented(t) {
				got += fmt.Sprintf("%d by %s ", a.Size, a.Source)
			}
			if got != want {
				t.Errorf("kept are %q, want %q", got, want)
			}
		}
		first := p.to(t, 5)
		for i := range 50 {
			s.clock.later(time.Second)
			p.show(t, fmt.Sprintf("relay/w%d~01", i), first)
		}
		sizes("5 by w0 ")
		second := p.to(t, 9)
		p.show(t, "relay/w1", first, second)
		sizes("5 by w0 ")
		s.clock.later(time.Minute)
		p.show(t, "relay/w2", second, first)
		third := p.to(t, 12)
		p.show(t, "relay/w3", third)
		s.clock.later(2 * time.Minute)
		p.show(t, "relay/w4", first, second)
		sizes("9 by w2 5 by w0 ")
		// Other lines that a worker adds to a head are not stored.
		p.show(t, "relay/w5", third+"\u2014 w.example/w AAAAAAAAAAAA\n")
		sizes("12 by w5 9 by w2 5 by w0 ")
		if a := p.presented(t)[0]; a.Note != third || len(a.Evidence) != 0 {
			t.Errorf("%+v", a)
		}
		p.checkHead(t, "")
		if v := p.verify(t); strings.Contains(strings.Join(v.NotChecked, "\n"), "no head outside of the database") ||
			v.Anchored != 12 {
			t.Errorf("%+v", v)
		}
		s.starts(t)
		if n := p.log.count(); n != 0 {
			t.Errorf("%d errors", n)
		}
	})
}

// TestARestoredDatabase cuts the chain together with every stored head, without a head file (A9): a worker's head
// reveals it, once, until an operator accepts it.
// Keeps F36.
func TestARestoredDatabase(t *testing.T) {
	t.Parallel()
	eachSite(t, func(t *testing.T, s *site) {
		p := s.starts(t)
		held := p.to(t, 12)
		p.restored(t, 7)
		p = s.starts(t)
		p.checkHead(t, "")
		for range 20 {
			p.show(t, "relay/w1", held)
			s.clock.later(10 * time.Second)
		}
		other := s.joins(t, nil)
		other.show(t, "relay/w2", held)
		for range 2 {
			p.checkHead(t, "worker/12/tail_missing")
		}
		p.refused(t, p.verify(t))
		if list := p.presented(t); len(list) != 1 || list[0].Source != "w1" || list[0].Note != held ||
			string(list[0].Evidence) != `{"size":7}` {
			t.Errorf("%+v", list)
		}
		if l := p.log.last; p.log.count()+other.log.count() != 1 || l["worker"] != "w1" || l["size"] != int64(12) ||
			l["chain_size"] != int64(7) {
			t.Errorf("%d errors: %v", p.log.count(), l)
		}
		// No worker gets a head that would replace one that proves something.
		p.to(t, 10)
		if note := p.newest(t, s); note != "" {
			t.Errorf("told is %q", note)
		}
		s.refuses(t)
		p = s.accepts(t)
		for range 3 {
			p.show(t, "relay/w1", held, p.newest(t, s))
			s.clock.later(time.Minute)
		}
		if note := p.newest(t, s); !strings.Contains(strings.SplitN(note, "\n", 2)[0], "/e2") {
			t.Errorf("told is %q", note)
		}
		p.checkHead(t, "")
		if s.starts(t); p.log.count() != 0 || len(p.presented(t)) != 2 {
			t.Errorf("it is told again: %+v", p.presented(t))
		}
		if _, err := p.Admin.AcceptRollback(t.Context(), "twice"); !audit.NotRolledBack.Is(err) {
			t.Errorf("accepted twice: %v", err)
		}
	})
}

// TestAChainThatHasGoneOn covers a restored chain with larger satisfied heads: one worker shows a head from before the
// restore, and another one a head of an epoch that is closed by then.
func TestAChainThatHasGoneOn(t *testing.T) {
	t.Parallel()
	eachSite(t, func(t *testing.T, s *site) {
		p := s.starts(t)
		older, held := p.to(t, 9), p.to(t, 12)
		p.restored(t, 7)
		p = s.starts(t)
		p.to(t, 10)
		for size := int64(20); size < 92; size += 2 { // more than any check reads
			p.show(t, "relay/w1", p.to(t, size))
			s.clock.later(2 * time.Minute)
		}
		p.show(t, "relay/w2", held)
		p.show(t, "relay/w3", held)
		if n := len(p.presented(t)); n != 37 || p.log.count() != 1 {
			t.Errorf("%d are kept, %d errors", n, p.log.count())
		}
		p.checkHead(t, "worker/12/root_mismatch")
		s.refuses(t)
		p = s.accepts(t)
		if id, err := p.store.Epochs(t.Context()); err != nil || len(id) != 2 || id[0].LastSize != 10 {
			t.Errorf("%+v: %v", id, err)
		}
		p.show(t, "relay/w2", held)
		p.checkHead(t, "")
		p.show(t, "relay/w4", older)
		p.checkHead(t, "worker/9/root_mismatch")
		s.refuses(t)
		p = s.accepts(t)
		p.show(t, "relay/w2", held)
		p.show(t, "relay/w4", older)
		p.checkHead(t, "")
		if s.starts(t); p.log.count() != 0 {
			t.Errorf("it is told again")
		}
	})
}

// TestForeignHeads refuses notes that no key of the install signed, stores nothing of them, and still checks the
// others.
func TestForeignHeads(t *testing.T) {
	t.Parallel()
	eachSite(t, func(t *testing.T, s *site) {
		p := s.starts(t)
		good := p.to(t, 9)
		stranger, err := keys.Generate(keys.Checkpoint)
		must(t, err)
		parsed, err := checkpoint.Parse([]byte(good))
		must(t, err)
		forged, err := checkpoint.Sign(checkpoint.Body{Origin: parsed.Origin, Size: 99, Root: parsed.Root}, stranger)
		must(t, err)
		elsewhere, err := checkpoint.Sign(checkpoint.Body{Origin: "audit.example.org/audit/in_other/e1", Size: 99,
			Root: parsed.Root}, stranger)
		must(t, err)
		for name, note := range map[string]string{
			"forged": string(forged), "of another install": string(elsewhere), "no note": "no note", "nothing": "",
			"larger": strings.Replace(good, "\n9\n", "\n99\n", 1), "half": good[:len(good)/2],
			"without an epoch": strings.ReplaceAll(good, "/e1", "/x1"),
		} {
			for _, again := range []string{"", " again"} {
				if err := p.Heads.Show(t.Context(), "relay/w1", []string{note, good}); !audit.ForeignHead.Is(err) {
					t.Errorf("%s%s: %v", name, again, err)
				}
			}
		}
		if list := p.presented(t); len(list) != 1 || list[0].Size != 9 || p.log.count() != 0 {
			t.Errorf("%+v", list)
		}
		for name, err := range map[string]error{
			"heads":             p.Heads.Show(t.Context(), "relay/w1", make([]string, audit.HeldHeads+1)),
			"worker":            p.Heads.Show(t.Context(), "", []string{good}),
			"worker with a NUL": p.Heads.Show(t.Context(), "a\x00b", []string{good}),
			"worker, long":      p.Heads.Show(t.Context(), strings.Repeat("a", 513), []string{good}),
		} {
			if !fault.Is(err, fault.Invalid) || audit.ForeignHead.Is(err) || !strings.HasPrefix(err.Error(), name[:5]) {
				t.Errorf("%s: %v", name, err)
			}
		}
		p.show(t, "", nil...)
		p.checkHead(t, "")
	})
}
