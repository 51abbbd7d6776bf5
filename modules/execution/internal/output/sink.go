package output

import (
	"encoding/json"
	"fmt"
	"sync"
	"unicode/utf8"

	"github.com/writ-automation/writ/modules/execution/internal/rundir"
	"github.com/writ-automation/writ/modules/execution/internal/spool"
	"github.com/writ-automation/writ/modules/execution/internal/summary"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secret/mask"
)

const (
	// maxText bounds one text of an event; tools cut earlier, this is a second limit.
	maxText = 64 << 10
	// maybeCut is the length beyond which a tool may have cut a text, perhaps inside of a secret.
	maybeCut = 16<<10 - utf8.UTFMax
)

// Sink receives the structured events of one run. It is safe for concurrent use.
type Sink struct {
	mu      sync.Mutex
	masker  *mask.Masker
	spool   *spool.Events
	clock   clock.Clock
	summary *summary.Summary
	next    int64 // sequence number of the next event
	left    int64 // how many more are accepted
	dropped int64
	noFacts int // readings of hosts that were not kept
	outputs runs.Vars
	outSize int
	outBad  error
	grown   func(n int)
}

// NewSink makes the sink of one run: events get numbers from next on, and beyond limit they are only counted.
func NewSink(m *mask.Masker, s *spool.Events, c clock.Clock, next, limit int64, grown func(n int)) *Sink {
	return &Sink{masker: m, spool: s, clock: c, summary: summary.New(), next: next, left: limit, grown: grown}
}

// Add masks, numbers and stores an event. It waits only while the spool on disk is full, and fails after the run is
// given up.
func (s *Sink) Add(e runs.Event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.At.IsZero() {
		e.At = s.clock.Now()
	}
	Mask(s.masker, &e)
	// Of a part the rest would look as if it were gone from the host. Masked texts may be longer.
	if e.Type == runs.EventFacts && (e.Truncated || len(e.Facts) > runs.MaxFacts) {
		e.Facts, e.Truncated = nil, true
		s.noFacts++
	}
	s.summary.Add(&e)
	if e.Type == runs.EventOutputs {
		s.collect(&e)
	}
	if s.left <= 0 {
		s.dropped++
		return nil
	}
	e.Seq = s.next
	if err := s.spool.Put(e); err != nil {
		return fmt.Errorf("keep an event: %w", err)
	}
	s.next++
	s.left--
	s.grown(int(spool.Size(&e)))
	return nil
}

// Mask masks every text of an event, and every string inside its documents.
func Mask(m *mask.Masker, e *runs.Event) {
	text := func(s string) string {
		if len(s) > maybeCut {
			return m.Prefix(s)
		}
		return m.String(s)
	}
	for _, p := range e.Texts() {
		*p = text(*p)
		if len(*p) > maxText {
			*p, e.Truncated = cut(*p), true
		}
	}
	for _, p := range []*json.RawMessage{&e.Diff, &e.Stats, &e.Facts, &e.Outputs} {
		if len(*p) > 0 && !m.Empty() {
			*p = mask.MapJSON(*p, text)
		}
	}
}

// cut shortens a text to maxText bytes without splitting a character.
func cut(s string) string {
	n := maxText
	for n > maxText-utf8.UTFMax && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

func (s *Sink) collect(e *runs.Event) {
	if s.outSize += len(e.Outputs); s.outSize > rundir.MaxOutputs {
		s.outBad = fmt.Errorf("the outputs are larger than %d bytes", rundir.MaxOutputs)
		return
	}
	v, err := rundir.ParseOutputs(e.Outputs)
	if err != nil {
		s.outBad = err
		return
	}
	s.outputs = s.outputs.Merge(v)
}

// Outputs returns the outputs that the run set by events, and an error if some are missing.
func (s *Sink) Outputs() (runs.Vars, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.outputs, s.outBad
}

// Dropped returns the number of events beyond the limit.
func (s *Sink) Dropped() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dropped
}

// NoFacts returns the number of readings of facts that were too large to be kept.
func (s *Sink) NoFacts() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.noFacts
}

// Summary returns the summary of all events. It is read when the tool has ended.
func (s *Sink) Summary() *summary.Summary {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.summary
}
