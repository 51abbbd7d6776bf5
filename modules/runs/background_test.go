package runs_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	module "github.com/writ-automation/writ/modules/runs"
	"github.com/writ-automation/writ/platform/clock"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

// claimBriefly claims the next run under a lease that expires at once.
func (b *bundle) claimBriefly() (a *runs.Assignment) {
	b.t.Helper()
	err := b.d.Do(b.t.Context(), func(ctx context.Context) error {
		got, err := b.store.Claim(ctx, runs.ClaimRequest{Worker: "dead", Queues: []string{runs.DefaultQueue}}, 0,
			clock.New().Now())
		a = got.Assignment
		return err
	})
	if err != nil || a == nil {
		b.t.Fatalf("claim: %v, %v", a, err)
	}
	return a
}

func TestTheSweeperEndsWhatHasNoLease(t *testing.T) {
	t.Parallel()
	dbtest.EachEngine(t, migrations.FS, func(t *testing.T, d *db.DB) {
		b := setup(t, d, module.Config{SweepEvery: 10 * time.Millisecond})
		never := b.submit(script())
		b.claimBriefly()
		b.Background.Start()
		b.Background.Start()
		b.eventually("the run is pending again", func() bool { return b.get(never.ID).Status == runs.Pending })
		a := b.claim()
		if a.Run.ID != never.ID {
			t.Fatalf("claimed %s", a.Run.ID)
		}
		b.finish(a, runs.Ending{Status: runs.Succeeded})
		if err := b.Background.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}

		r := b.divided(2, "a")
		shard := b.claimBriefly()
		b.begin(shard)
		must[int64](t)(b.Journal.AppendLog(t.Context(), shard.Lease, runs.LogChunk{Data: []byte("half")}))
		wanted := b.submit(script())
		b.claimBriefly()
		must[*runs.Run](t)(b.Controller.Cancel(t.Context(), wanted.ID))
		b.Background.Start()
		b.eventually("the split is interrupted", func() bool { return b.get(r.ID).Status.Terminal() })
		b.eventually("the other is canceled", func() bool { return b.get(wanted.ID).Status == runs.Canceled })
		b.status(r.ID, runs.Interrupted)
		got := b.status(shard.Run.ID, runs.Interrupted)
		sum := sha256.Sum256([]byte("half"))
		if got.Error != "the executor stopped reporting" || got.LogSHA256 != hex.EncodeToString(sum[:]) {
			t.Errorf("%q, %s", got.Error, got.LogSHA256)
		}
		if err := b.Worklist.Finish(t.Context(), shard.Lease, runs.Ending{Status: runs.Succeeded}); !runs.LeaseLost.Is(err) {
			t.Errorf("the zombie's ending: %v", err)
		}
		if err := b.Background.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

func TestBackgroundLeavesNothingBehind(t *testing.T) {
	d := dbtest.Open(t, db.SQLite, migrations.FS)
	b := setup(t, d, module.Config{SweepEvery: time.Millisecond})
	ignore := goleak.IgnoreCurrent()
	b.Background.Start()
	if err := b.Background.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := b.Background.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	goleak.VerifyNone(t, ignore)
}

func TestConfig(t *testing.T) {
	t.Parallel()
	for _, c := range []module.Config{{LogCap: 1}, {RetainRuns: -1}, {SweepEvery: -1}} {
		if _, err := module.New(module.Params{Config: c}); !fault.Is(err, fault.Invalid) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestAStreamFollowsARealRun(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		r := b.submit(script())
		var text strings.Builder
		var states []runs.Status
		var seqs []int64
		var wg sync.WaitGroup
		wg.Go(func() {
			err := b.Streamer.Follow(t.Context(), r.ID, 0, 0, func(u runs.Update) error {
				switch {
				case u.Run != nil:
					states = append(states, u.Run.Status)
				case u.Event != nil:
					seqs = append(seqs, u.Event.Seq)
				case u.Log != nil:
					text.Write(u.Log.Data)
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
		a := b.claim()
		b.begin(a)
		var at int64
		var want strings.Builder
		for i := range 50 {
			line := fmt.Sprintf("line %d\n", i)
			want.WriteString(line)
			b.Live.ShowLog(r.ID, runs.LogChunk{Offset: at, Data: []byte(line)})
			at = must[int64](t)(b.Journal.AppendLog(t.Context(), a.Lease, runs.LogChunk{Offset: at, Data: []byte(line)}))
			must[int64](t)(b.Journal.AppendEvents(t.Context(), a.Lease,
				[]runs.Event{{Seq: a.NextSeq + int64(i), Type: runs.EventWarning}}))
		}
		b.finish(a, runs.Ending{Status: runs.Succeeded, LogBytes: at})
		wg.Wait()
		if text.String() != want.String() {
			t.Errorf("%d bytes of %d", text.Len(), want.Len())
		}
		for i, s := range seqs {
			if s != int64(i+1) {
				t.Fatalf("event %d at %d", s, i)
			}
		}
		if len(seqs) != 52 || states[len(states)-1] != runs.Succeeded {
			t.Errorf("%d events, states %v", len(seqs), states)
		}
	})
}
