package httpapi_test

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/proof"
	"github.com/writ-automation/writ/ports/tx"
)

// recorded is an entry with the values from its context.
type recorded struct {
	audit.Entry
	Actor   actor.Actor
	Request actor.Request
	Ended   bool // the context was at its end
}

// chain is a fake of the recorder and the trail.
type chain struct {
	mu      sync.Mutex
	entries []recorded
	err     error // the error of every record, if set
	page    audit.Page
	filter  audit.Filter
	asked   []string // runs whose receipt was requested
	lost    error    // the error of ReceiptOf, if set
}

func (c *chain) Record(ctx context.Context, e audit.Entry) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return c.err
	}
	c.entries = append(c.entries, recorded{Entry: e, Actor: actor.From(ctx), Request: actor.RequestOf(ctx),
		Ended: ctx.Err() != nil})
	n := int64(len(c.entries))
	receipt := audit.CollectorOf(ctx)
	tx.OnCommit(ctx, func() { receipt.Put(audit.Receipt{Seq: n, Hash: [32]byte{0xab, 31: byte(n)}}, e.Run) })
	return nil
}

func (c *chain) all() []recorded {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]recorded{}, c.entries...)
}

func (c *chain) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = err
}

func (c *chain) Page(_ context.Context, f audit.Filter) (audit.Page, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.filter = f
	return c.page, c.err
}

func (c *chain) ReceiptOf(_ context.Context, run string) (audit.Receipt, bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = append(c.asked, run)
	return audit.Receipt{Seq: 41, Hash: [32]byte{1}}, run == knownRun, c.lost
}

func (c *chain) Size(context.Context) (int64, error) { return 42, nil }

// proofs is a fake of the prover and the reporter.
type proofs struct {
	mu      sync.Mutex
	err     error // the error of every call, if set
	verdict audit.ChainVerdict
	block   chan struct{} // blocks Verify and the writing of a bundle, if set
	entered chan struct{} // receives a token for each blocked call
	breaks  bool          // bundles break off
	bundle  audit.BundleQuery
	receipt audit.ReceiptQuery
	period  audit.Period
	seal    string
}

func (p *proofs) answer(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.err = err
}

func (p *proofs) wait(ctx context.Context) {
	block := p.block
	if block == nil {
		return
	}
	p.entered <- struct{}{}
	select {
	case <-block:
	case <-ctx.Done():
	}
}

func (p *proofs) Verify(ctx context.Context, _ proof.Trust) (audit.ChainVerdict, error) {
	p.wait(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.verdict, p.err
}

func (p *proofs) Bundle(_ context.Context, q audit.BundleQuery) (audit.Document, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bundle = q
	if p.err != nil {
		return nil, p.err
	}
	return &document{of: p, tiles: q.Tiles}, nil
}

// everybody is an audience that sees all.
type everybody struct{}

func (everybody) Sees(context.Context, string, string) (bool, error) { return true, nil }

// document is a bundle of some hundred kilobytes.
type document struct {
	of    *proofs
	tiles bool
}

func (d *document) MediaType() string {
	if d.tiles {
		return "application/zip"
	}
	return "application/vnd.writ.bundle+json"
}

func (d *document) Name() string { return `writ-audit-1-12 "x".json` }

func (d *document) WriteTo(ctx context.Context, w io.Writer) error {
	d.of.wait(ctx)
	for range 100 {
		if _, err := w.Write(make([]byte, 4096)); err != nil {
			return err
		}
	}
	if d.of.breaks {
		return errors.New("SQL text that must stay hidden")
	}
	return nil
}

func (p *proofs) Receipt(_ context.Context, run string, q audit.ReceiptQuery) (audit.SignedReceipt, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.receipt = q
	return audit.SignedReceipt{Body: []byte(`{"payload":"` + run + `"}`), KeyID: "sha256:aa"}, p.err
}

func (p *proofs) Seal(context.Context) ([]byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return []byte(`{"v":1` + p.seal + `}`), p.err
}

func (p *proofs) Evidence(_ context.Context, run string) (audit.Evidence, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	html := "<!doctype " +
		"html><html><head><title>x</title><style>p{color:red}</style></head><body><style>b{}</style></body></html>"
	return audit.Evidence{JSON: []byte(`{"run":"` + run + `"}`), HTML: []byte(html)}, p.err
}

func (p *proofs) Change(context.Context, string) ([]byte, error) { return nil, p.err }

func (p *proofs) Register(_ context.Context, period audit.Period) ([]byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.period = period
	return []byte("<!doctype html><p>none</p>"), p.err
}

func instant(s string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return time.Time{}
	}
	return t
}
