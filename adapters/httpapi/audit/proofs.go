package audit

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/proof"
)

// VerifyBody is the result of a verification of the chain.
type VerifyBody struct {
	OK             bool                  `json:"ok"`
	Count          int64                 `json:"count" doc:"The number of entries that were read."`
	Head           string                `json:"head" doc:"The newest leaf hash in hex; zeros if there is none."`
	BrokeAt        int64                 `json:"broke_at" doc:"One-based place of the first bad entry, 0 if it is unknown."`
	BrokeSeq       int64                 `json:"broke_seq" doc:"The sequence number that it claims, 0 if it cannot be read."`
	Reason         string                `json:"reason" doc:"Empty for a valid chain, else chain_break, anchor_unsatisfied or chain_unbundlable."`
	Anchored       int64                 `json:"anchored" doc:"Entries that the newest satisfied anchor covers."`
	AnchorProblems []proof.AnchorProblem `json:"anchor_problems" doc:"Heads seen before that the chain does not satisfy."`
	Checks         []proof.Check         `json:"checks" doc:"The checks that were made."`
	NotChecked     []string              `json:"not_checked" doc:"The limits of such a check."`
}

func verifyBody(v audit.ChainVerdict) VerifyBody {
	return VerifyBody{
		OK: v.OK, Count: v.Count, Head: hex.EncodeToString(v.Head[:]), BrokeAt: v.BrokeAt, BrokeSeq: v.BrokeSeq,
		Reason:   string(v.Reason),
		Anchored: v.Anchored, AnchorProblems: append([]proof.AnchorProblem{}, v.AnchorProblems...),
		Checks: append([]proof.Check{}, v.Checks...), NotChecked: append([]string{}, v.NotChecked...),
	}
}

func (h *handlers) verify(ctx context.Context, _ *struct{}) (*httpapi.Output[VerifyBody], error) {
	leave, err := h.verdict.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	return httpapi.Show(verifyBody)(h.Prover.Verify(ctx, proof.Trust{}))
}

// BundleInput selects the part of the chain for the bundle.
type BundleInput struct {
	From   httpapi.Count `query:"from" doc:"The first sequence number."`
	To     httpapi.Count `query:"to" doc:"The last sequence number."`
	Limit  httpapi.Count `query:"limit" doc:"Keeps the newest of the window."`
	Format string        `query:"format" enum:"json,tiles" doc:"json if absent. tiles is the zip in the layout of tlog-tiles."`
}

func (in *BundleInput) Resolve(ctx huma.Context) []error { return blank(ctx, "from", "to", "limit") }

// The maximal duration of a bundle, and the number of bytes after which the caller's rights are checked again.
const (
	bundleTime = time.Hour
	askAgain   = 16 << 20
)

func (h *handlers) bundle(ctx context.Context, in *BundleInput) (*httpapi.StreamOutput, error) {
	private, err := h.router.May(ctx, "audit", "read")
	if err != nil {
		return nil, err
	}
	q := audit.BundleQuery{From: in.From.N, To: in.To.N, Limit: in.Limit.N, Tiles: in.Format == "tiles", Private: private}
	if !private {
		q.Audience = h.Audience
	}
	return &httpapi.StreamOutput{Body: func(hctx huma.Context) {
		var doc audit.Document
		sink := h.router.NewSink(hctx, http.StatusOK, func(hd http.Header) {
			hd.Set("Content-Type", doc.MediaType())
			hd.Set("Content-Disposition", attachment(doc.Name()))
		})
		defer sink.Done()
		err := h.router.Stream(hctx.Context(), func(ctx context.Context) error {
			leave, err := h.bundles.enter(ctx)
			if err != nil {
				return err
			}
			defer leave()
			if doc, err = h.Prover.Bundle(ctx, q); err != nil {
				return placed(err)
			}
			return send(ctx, sink, doc)
		})
		if errors.Is(err, context.Canceled) && hctx.Context().Err() == nil {
			err = fault.Wrap(fault.Unavailable, err, "the server is stopping")
		}
		if err != nil {
			sink.Fail(hctx.Context(), err, true)
		}
	}}, nil
}

// send streams a document. After an error the bundle stays truncated: an error line after it would corrupt it.
func send(ctx context.Context, sink *httpapi.Sink, doc audit.Document) error {
	if sink.Head() {
		sink.Start()
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, bundleTime)
	defer cancel()
	w := bufio.NewWriterSize(&authorizedWriter{ctx: ctx, to: sink}, 64<<10)
	if err := doc.WriteTo(ctx, w); err != nil {
		return fmt.Errorf("write bundle: %w", err)
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("write the end of a bundle: %w", err)
	}
	sink.Start()
	return nil
}

// authorizedWriter writes as long as the context is active and the caller keeps its rights.
type authorizedWriter struct {
	ctx  context.Context
	to   io.Writer
	sent int
}

func (l *authorizedWriter) Write(p []byte) (int, error) {
	if err := l.ctx.Err(); err != nil {
		return 0, err
	}
	if l.sent >= askAgain {
		l.sent = 0
		if err := httpapi.Recheck(l.ctx); err != nil {
			return 0, err
		}
	}
	l.sent += len(p)
	return l.to.Write(p)
}

// placed adds the zero coordinates to the refusal of a chain.
func placed(err error) error {
	var f *fault.Error
	if !errors.As(err, &f) || !audit.Broken.Is(f) && !audit.Unsatisfied.Is(f) && !audit.Unbundlable.Is(f) {
		return err
	}
	for name, zero := range map[string]any{"broke_at": 0, "broke_seq": 0, "count": 0,
		"anchor_problems": []proof.AnchorProblem{}} {
		if _, ok := f.Detail[name]; !ok {
			f = f.With(name, zero)
		}
	}
	return f
}

// attachment sets the file name of a download.
func attachment(name string) string {
	if v := mime.FormatMediaType("attachment", map[string]string{"filename": name}); v != "" {
		return v
	}
	return "attachment"
}

// seal answers every caller, including pages of other origins. All get the same answer, and no cache may keep it: a
// revoked key must disappear at once.
func (h *handlers) seal(w http.ResponseWriter, r *http.Request) {
	hd := w.Header()
	hd.Set("Access-Control-Allow-Origin", "*")
	hd.Set("Access-Control-Expose-Headers", "ETag")
	hd.Set("Cross-Origin-Resource-Policy", "cross-origin")
	body, err := h.Prover.Seal(r.Context())
	if err != nil {
		httpapi.WriteError(w, r, err)
		return
	}
	sum := sha256.Sum256(body)
	etag := `"` + hex.EncodeToString(sum[:]) + `"`
	hd.Set("ETag", etag)
	hd.Set("Cache-Control", "no-cache")
	if httpapi.Unchanged(strings.Join(r.Header.Values("If-None-Match"), ","), etag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	hd.Set("Content-Type", "application/json")
	_, _ = w.Write(body)
}
