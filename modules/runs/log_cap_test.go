package runs_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	module "github.com/writ-automation/writ/modules/runs"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/ports/runs"
)

func TestALongLogLosesItsMiddle(t *testing.T) {
	t.Parallel()
	dbtest.EachEngine(t, migrations.FS, func(t *testing.T, d *db.DB) {
		const limit, chunk = 128 << 10, 8 << 10
		b := setup(t, d, module.Config{LogCap: limit})
		r := b.submit(script())
		a := b.claim()
		b.begin(a)
		var at int64
		for i := range 40 {
			data := []byte(strings.Repeat(string(rune('a'+i%26)), chunk))
			at = must[int64](t)(b.Journal.AppendLog(t.Context(), a.Lease, runs.LogChunk{Offset: at, Data: data}))
		}
		b.finish(a, runs.Ending{Status: runs.Succeeded, Log: runs.LogChunk{Offset: at, Data: []byte("the end\n")},
			LogBytes: at + 8 + 5, LogSHA256: "the holder's"}) // five bytes are missing
		got := b.get(r.ID)
		log, v := b.log(r.ID, runs.LogRange{})
		sum := sha256.Sum256([]byte(log))
		if got.LogSHA256 != hex.EncodeToString(sum[:]) {
			t.Error("the seal is not that of what is kept")
		}
		if int64(len(log)) > limit+chunk || int64(len(log))+got.LogOmitted != got.LogBytes || got.LogBytes != at+13 ||
			!v.Truncated || v.Omitted != got.LogOmitted {
			t.Errorf("%d bytes kept, %d omitted of %d, %+v", len(log), got.LogOmitted, got.LogBytes, v)
		}
		if !strings.HasPrefix(log, "aaaa") || !strings.HasSuffix(log, "the end\n") {
			t.Error("the beginning or the end is gone")
		}
		if len(got.Warnings) != 1 || got.Warnings[0].Code != runs.WarnLogTruncated {
			t.Errorf("warnings %v", got.Warnings)
		}
		if tail, v := b.log(r.ID, runs.LogRange{Tail: 20}); !strings.HasSuffix(tail, "the end\n") ||
			v.Omitted != v.Total-int64(len(tail)) {
			t.Errorf("tail %q, %+v", tail, v)
		}
		for _, rg := range []runs.LogRange{{To: v.Total}, {From: 5, To: v.Total}, {From: v.Total - 15, To: v.Total}} {
			part, p := b.log(r.ID, rg)
			if p.To-p.From != int64(len(part)) || part == "" || rg.From < chunk && p.To > limit {
				t.Errorf("the stretch %+v is told as %d to %d with %d bytes", rg, p.From, p.To, len(part))
			}
		}
	})
}

// truncations counts the warnings about missing output.
func truncations(r *runs.Run) (n int) {
	for _, w := range r.Warnings {
		if w.Code == runs.WarnLogTruncated {
			n++
		}
	}
	return n
}

// TestTheLogCapIsKeptToOneChunk writes the log of a run through two servers, with concurrent callers that repeat
// chunks, and continues through a third. The stored output never exceeds the cap and one chunk, and there is one
// warning.
func TestTheLogCapIsKeptToOneChunk(t *testing.T) {
	t.Parallel()
	dbtest.EachEngine(t, migrations.FS, func(t *testing.T, d *db.DB) {
		const limit, chunk, writers, rounds = 64 << 10, 7001, 4, 12 // no chunk ends where the cap cuts
		b, other := setup(t, d, module.Config{LogCap: limit}), setup(t, d, module.Config{LogCap: limit})
		r := b.submit(script())
		a := b.claim()
		b.begin(a)
		piece := func(i int) runs.LogChunk {
			return runs.LogChunk{Offset: int64(i) * chunk, Data: []byte(strings.Repeat(string(rune('a'+i%26)), chunk))}
		}
		bounded := func(when string) {
			t.Helper()
			if log, _ := b.log(r.ID, runs.LogRange{}); int64(len(log)) > limit+chunk {
				t.Errorf("%s: %d bytes are stored", when, len(log))
			}
			if n := truncations(b.get(r.ID)); n > 1 {
				t.Errorf("%s: %d warnings", when, n)
			}
		}
		for round := range rounds {
			var all sync.WaitGroup
			for w := range writers {
				journal := []runs.Journal{b.Journal, other.Journal}[w%2]
				all.Go(func() {
					for i := round * 3; i < round*3+3; i++ {
						if _, err := journal.AppendLog(t.Context(), a.Lease, piece(i)); err != nil {
							t.Error(err)
						}
					}
				})
			}
			all.Wait()
			bounded("while it runs")
		}
		third := setup(t, d, module.Config{LogCap: limit})
		end := must[int64](t)(third.Journal.AppendLog(t.Context(), a.Lease, piece(rounds*3)))
		bounded("after a restart")
		third.finish(a, runs.Ending{
			Status: runs.Succeeded, LogBytes: end, LogOmitted: 5,
			Warnings: []runs.Warning{{Code: runs.WarnLogTruncated, Message: "the holder's"}},
		})
		bounded("at its end")
		got := b.get(r.ID)
		if log, _ := b.log(r.ID, runs.LogRange{}); truncations(got) != 1 || int64(len(log))+got.LogOmitted != got.LogBytes ||
			got.LogBytes != end ||
			!strings.HasPrefix(log, strings.Repeat("a", chunk)+"b") || int64(len(log)) < limit {
			t.Errorf("%v, %d bytes kept, %d omitted of %d", got.Warnings, len(log), got.LogOmitted, got.LogBytes)
		}
	})
}

// TestMissingOutputIsReportedOnce checks that the record has one warning exactly if output is missing, whatever the
// holder reports.
func TestMissingOutputIsReportedOnce(t *testing.T) {
	t.Parallel()
	dbtest.EachEngine(t, migrations.FS, func(t *testing.T, d *db.DB) {
		b := setup(t, d, module.Config{SweepEvery: 10 * time.Millisecond})
		published := []runs.Warning{{Code: runs.WarnLogTruncated, Message: "the holder's"}}
		for name, c := range map[string]struct {
			end  runs.Ending
			want int
		}{
			"nothing is missing": {runs.Ending{Log: runs.LogChunk{Data: []byte("all")}, LogBytes: 3, Warnings: published}, 0},
			"a hole":             {runs.Ending{Log: runs.LogChunk{Offset: 4, Data: []byte("all")}, LogBytes: 7}, 1},
			"a hole that is told of": {runs.Ending{Log: runs.LogChunk{Offset: 4, Data: []byte("all")}, LogBytes: 7,
				LogOmitted: 4,
				Warnings:   published}, 1},
		} {
			c.end.Status = runs.Failed
			r := b.submit(script())
			a := b.claim()
			b.begin(a)
			b.finish(a, c.end)
			if got := b.get(r.ID); truncations(got) != c.want {
				t.Errorf("%s: %v", name, got.Warnings)
			}
		}
		r := b.submit(script())
		a := b.claimBriefly()
		b.begin(a)
		must[int64](t)(b.Journal.AppendLog(t.Context(), a.Lease, runs.LogChunk{Offset: 4, Data: []byte("all")}))
		b.Background.Start()
		b.eventually("the run is interrupted", func() bool { return b.get(r.ID).Status == runs.Interrupted })
		if err := b.Background.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Fatal(err)
		}
		if got := b.get(r.ID); truncations(got) != 1 {
			t.Errorf("without a holder: %v", got.Warnings)
		}
	})
}
