package bench

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"testing"
)

// mode names the environment variable that makes BenchmarkRows compare its ratios with the committed ones ("check")
// or write them ("update"), in a short form. Otherwise it only prints them.
const mode = "WRIT_BENCH_ROWS"

// committedFile has the committed ratios.
const committedFile = "ratios.json"

// attempts bounds how often a row is measured: again while it is over the tolerance or its baseline changed. All of
// its rounds count then.
const attempts = 3

// subject is what some rows are measured on. It has two sizes, of which the second is ten times the first, unless
// nothing about it can grow.
type subject struct {
	name  string
	sizes []int
	long  bool // not for the short form
	open  func(b *testing.B) (at func(size int) []probe)
}

// probe measures rows that come from the same work. A round returns a measurement of each row.
type probe struct {
	rows   []row
	rounds int // of the short form
	round  func() []Round
	beside func() string // further figures, which nothing compares
}

type row struct{ name, unit string }

func subjects() []subject {
	return []subject{
		queued(sqlite()), queued(postgres()), executed(sqlite(), "none"), executed(postgres(), "none"),
		executed(sqlite(), "auto"), executed(postgres(), "auto"), firstStart(), afterKill(), playbooks(), starts(), modules(),
		remembered(sqlite(), false), remembered(postgres(), false), remembered(sqlite(), true), remembered(postgres(), true),
		imports(),
	}
}

// BenchmarkRows measures every row of the table of performance: processor time, bytes or memory for each operation, in
// turns with a baseline, at two sizes.
func BenchmarkRows(b *testing.B) {
	t := &table{mode: os.Getenv(mode), committed: Ratios{}, measured: Ratios{}}
	raw, err := os.ReadFile(committedFile)
	must(b, err)
	must(b, json.Unmarshal(raw, &t.committed))
	load, err := os.ReadFile("/proc/loadavg")
	must(b, err)
	fmt.Printf("%d processors, load %s", runtime.NumCPU(), load)
	fmt.Printf("%-42s %6s %12s %12s %8s %8s %9s\n", "row", "size", "each", "baseline", "ratio", "growth", "committed")
	ran, all := 0, 0
	for _, s := range subjects() {
		if s.long && t.mode != "" {
			continue
		}
		all++
		b.Run(s.name, func(b *testing.B) {
			ran++
			t.measure(b, s)
		})
	}
	if b.Failed() {
		return
	}
	switch t.mode {
	case "check":
		for _, line := range Worse(t.measured, t.committed, ran == all) {
			b.Error(line)
		}
	case "update":
		if ran < all { // the others keep theirs
			maps.Copy(t.committed, t.measured)
			t.measured = t.committed
		}
		raw, err := json.MarshalIndent(t.measured, "", "  ")
		must(b, err)
		must(b, os.WriteFile(committedFile, append(raw, '\n'), 0o644)) //nolint:gosec // a file of the repository
	}
}

// table prints and collects the rows.
type table struct {
	mode                string
	committed, measured Ratios
}

func (t *table) measure(b *testing.B, s subject) {
	first := map[string]float64{}
	at := s.open(b)
	for _, size := range s.sizes {
		for _, p := range at(size) {
			got := t.rounds(p, size)
			for i, r := range p.rows {
				ours := Median(got[i], func(r Round) float64 { return r.Ours })
				growth, beside := "", ""
				if was, ok := first[r.name]; ok {
					growth = fmt.Sprintf("%.2f", ours/was)
				}
				first[r.name] = ours
				if i == 0 && p.beside != nil {
					beside = p.beside()
				}
				t.add(r, size, got[i], growth, beside)
			}
		}
	}
}

// rounds measures a probe until its rows are believed.
func (t *table) rounds(p probe, size int) [][]Round {
	n := p.rounds
	if t.mode == "" {
		n *= 3
	}
	got := make([][]Round, len(p.rows))
	for range attempts {
		for range n {
			for i, r := range p.round() {
				got[i] = append(got[i], r)
			}
		}
		if t.mode == "" || !slices.ContainsFunc(got, func(r []Round) bool { return !Steady(r) }) && !t.over(p, size, got) {
			break
		}
	}
	return got
}

func (t *table) over(p probe, size int, got [][]Round) bool {
	measured := Ratios{}
	for i, r := range p.rows {
		measured[key(r, size)] = Ratio(got[i])
	}
	return t.mode == "check" && len(Worse(measured, t.committed, false)) > 0
}

func key(r row, size int) string { return fmt.Sprintf("%s/%d", r.name, size) }

func (t *table) add(r row, size int, rounds []Round, growth, beside string) {
	name := key(r, size)
	t.measured[name] = float64(int(Ratio(rounds)*1000+0.5)) / 1000
	if !Steady(rounds) {
		beside += " (the baseline varied)"
	}
	committed := ""
	if was, ok := t.committed[name]; ok {
		committed = fmt.Sprintf("%.3g", was)
	}
	middle := func(value func(Round) float64) string { return fmt.Sprintf("%.4g %s", Median(rounds, value), r.unit) }
	fmt.Printf("%-42s %6d %12s %12s %8.3g %8s %9s  %s\n", r.name, size, middle(func(r Round) float64 { return r.Ours }),
		middle(func(r Round) float64 { return r.Base }), t.measured[name], growth, committed, beside)
}
