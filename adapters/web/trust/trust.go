package trust

import (
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/proof"
)

type handlers struct {
	Params

	mu   sync.Mutex
	last *verdict // of this server, by whomever
}

// verdict is a verification of the whole chain by this server.
type verdict struct {
	OK             bool                  `json:"ok"`
	Count          int64                 `json:"count"`
	BrokeSeq       int64                 `json:"broke_seq"`
	Reason         string                `json:"reason"`
	Anchored       int64                 `json:"anchored"`
	AnchorProblems []proof.AnchorProblem `json:"anchor_problems"`
	Checks         []proof.Check         `json:"checks"`
	NotChecked     []string              `json:"not_checked"`

	at time.Time
	by string
}

// New returns the section.
func New(p Params) shell.Section {
	h := &handlers{Params: p}
	verify := identity.Need{Kind: "audit", Act: "verify"}
	return shell.Section{Name: "trust", Register: func(s *shell.Shell) {
		s.Get("/ui/trust", verify, h.state)
		s.Post("/ui/trust", verify, h.verify)
		s.Get("/ui/trust/trail", identity.Need{Kind: "audit", Act: "read"}, h.trail)
		s.Get("/ui/trust/verify", identity.Need{}, func(*shell.Request) (*shell.Page, error) {
			return &shell.Page{Title: verifyText, Nav: shell.Trust, Body: verifyPage()}, nil
		})
	}}
}

// seal is what the well-known document says about the signing keys.
type seal struct {
	Install string `json:"install_id"`
	Keys    []struct {
		ID  string    `json:"kid"`
		Alg string    `json:"alg"`
		Not time.Time `json:"not_before"`
	} `json:"keys"`
}

// stateView is the page of the trail's state.
type stateView struct {
	Size    int64
	Verdict *verdict
	Seal    seal
}

func (h *handlers) state(r *shell.Request) (*shell.Page, error) {
	size, err := h.Trail.Size(r.Context())
	if err != nil {
		return nil, err //nolint:wrapcheck // a fault
	}
	v := stateView{Size: size}
	if err := r.Get("/.well-known/seal.json", &v.Seal); err != nil {
		return nil, err
	}
	h.mu.Lock()
	v.Verdict = h.last
	h.mu.Unlock()
	return &shell.Page{Title: trustText, Nav: shell.Trust, Glyph: glyphOf(v.Verdict), Body: statePage(v)}, nil
}

func glyphOf(v *verdict) string {
	switch {
	case v == nil:
		return "seal"
	case v.OK:
		return "done"
	}
	return "fail"
}

// verify recomputes the chain now. The operation bounds how many do that at once.
func (h *handlers) verify(r *shell.Request) (*shell.Page, error) {
	v := &verdict{at: r.Now, by: r.Viewer.Name}
	if err := r.Get("/v1/audit/verify", v); err != nil {
		return nil, err
	}
	h.mu.Lock()
	h.last = v
	h.mu.Unlock()
	return nil, shell.Redirect("/ui/trust")
}

// day is the entries of one day in the viewer's zone.
type day struct {
	Date  string
	Lines []audit.Line
}

// trailView is a page of the trail.
type trailView struct {
	Actor, Object string
	Days          []day
	Count         int
	Older, Newest string
}

func (h *handlers) trail(r *shell.Request) (*shell.Page, error) {
	q := r.URL.Query()
	f := audit.Filter{Limit: audit.DefaultPage, Actor: q.Get("actor")}
	if text := q.Get("before"); text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 {
			return nil, fault.BadField("before", "is not a number")
		}
		f.Before = n
	}
	object := strings.TrimSpace(q.Get("object"))
	switch o := httpapi.ObjectOf(object); {
	case o.Kind != "":
		f.Object = o.Kind + "/" + o.ID
	case strings.Contains(object, "/") || object == "":
		f.Object = object
	default:
		return nil, fault.BadField("object", "is neither kind/id nor an id")
	}
	page, err := h.Trail.Page(r.Context(), f)
	if err != nil {
		return nil, err //nolint:wrapcheck // a fault
	}
	v := trailView{Actor: f.Actor, Object: object, Count: len(page.Lines)}
	for _, l := range page.Lines {
		date := l.At.In(r.Viewer.Zone).Format("Monday, 2 January 2006")
		if n := len(v.Days); n == 0 || v.Days[n-1].Date != date {
			v.Days = append(v.Days, day{Date: date})
		}
		last := &v.Days[len(v.Days)-1]
		last.Lines = append(last.Lines, l)
	}
	if page.HasMore {
		v.Older = trailAddress(f.Actor, object, page.NextBefore)
	}
	if f.Before > 0 {
		v.Newest = trailAddress(f.Actor, object, 0)
	}
	return &shell.Page{Title: trailText, Nav: shell.Trust, Body: trailPage(v)}, nil
}

func trailAddress(actor, object string, before int64) string {
	q := url.Values{}
	for name, value := range map[string]string{"actor": actor, "object": object} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if before > 0 {
		q.Set("before", strconv.FormatInt(before, 10))
	}
	if len(q) == 0 {
		return "/ui/trust/trail"
	}
	return "/ui/trust/trail?" + q.Encode()
}

// details returns the document of an entry for a reader, and the program that made the request; empty if there is no
// document.
func details(l audit.Line) string {
	if len(l.Details) == 0 {
		return ""
	}
	text := document(l)
	if l.Agent != "" {
		text += "\n" + programText + " " + l.Agent
	}
	return text
}

func document(l audit.Line) string {
	var v any
	if json.Unmarshal(l.Details, &v) != nil {
		return string(l.Details)
	}
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return string(l.Details)
	}
	return string(b)
}
