package audit

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/fault"
)

// ListInput filters and pages the trail.
type ListInput struct {
	Limit  httpapi.Count `query:"limit" doc:"100 unless given, at most 1000; a larger number means 1000."`
	Before httpapi.Count `query:"before" doc:"Sequence numbers below this one: next_before of the page before."`
	Actor  string        `query:"actor" doc:"Id of the actor; system for the system, cli for commands at the machine."`
	Object string        `query:"object" doc:"The object of the action: kind/id, or only the id."`
}

func (in *ListInput) filter() (audit.Filter, error) {
	f := audit.Filter{Before: in.Before.N, Limit: in.Limit.Clamp(audit.DefaultPage, audit.MaxPage), Actor: in.Actor}
	switch o := httpapi.ObjectOf(in.Object); {
	case in.Object == "":
	case o.Kind != "":
		f.Object = o.Kind + "/" + o.ID
	case strings.Contains(in.Object, "/"):
		f.Object = in.Object
	default:
		return f, fault.BadField("object", "is neither kind/id nor an id")
	}
	return f, nil
}

// ActorBody is the actor of an entry.
type ActorBody struct {
	Type string `json:"type" enum:"user,worker,hook,system,anonymous"`
	ID   string `json:"id,omitempty"`
	Name string `json:"name,omitempty" doc:"Absent after it is erased."`
	IP   string `json:"ip,omitempty" doc:"Absent if there was none, and after it is erased."`
	// Agent is a name that a program gave itself.
	Agent string `json:"agent,omitempty" doc:"The program that made the request, as it named itself, after the agent that it acted for. Absent if there was none, and after it is erased."`
}

// ObjectBody is the object of an entry.
type ObjectBody struct {
	Kind string `json:"kind"`
	ID   string `json:"id"`
}

// EntryBody is an entry of the trail.
type EntryBody struct {
	Seq         int64           `json:"seq"`
	ID          string          `json:"id"`
	At          time.Time       `json:"at"`
	Actor       ActorBody       `json:"actor"`
	Action      string          `json:"action"`
	Method      string          `json:"method,omitempty" doc:"Absent if no request made the entry."`
	Path        string          `json:"path,omitempty" doc:"The route's pattern if the path itself is a secret. Absent if no request made the entry, and after it is erased."`
	Object      *ObjectBody     `json:"object,omitempty"`
	Run         string          `json:"run,omitempty" doc:"The top-level run that the entry belongs to."`
	Outcome     string          `json:"outcome" enum:"applied,denied,failed"`
	Text        string          `json:"text,omitempty" doc:"A text that a person wrote, such as the reason of a decision. Absent after it is erased."`
	Details     json.RawMessage `json:"details,omitempty" doc:"The content of the request, without secrets. Absent if there is none, and after it is erased."`
	DetailsHash string          `json:"details_hash,omitempty"`
	PrevHash    string          `json:"prev_hash"`
	Hash        string          `json:"hash"`
}

func entryBody(l audit.Line) EntryBody {
	b := EntryBody{
		Seq: l.Seq, ID: l.ID, At: l.At, Action: string(l.Action), Method: l.Method, Path: l.Path, Run: l.Run,
		Outcome: string(l.Outcome),
		Actor: ActorBody{Type: string(l.Actor.Type), ID: l.Actor.ID, Name: l.Actor.Name, IP: l.Actor.IP,
			Agent: l.Agent},
		Text: l.Text, Details: l.Details, DetailsHash: l.DetailsHash,
		PrevHash: hex.EncodeToString(l.PrevHash[:]), Hash: hex.EncodeToString(l.Hash[:]),
	}
	if l.Actor.Type == actor.Worker {
		b.Actor.Name = execution.ShownName(l.Actor.Name)
	}
	if l.Object.Kind != "" || l.Object.ID != "" {
		b.Object = &ObjectBody{Kind: l.Object.Kind, ID: l.Object.ID}
	}
	return b
}

// ListBody is a page of the trail.
type ListBody struct {
	Entries    []EntryBody `json:"entries"`
	Count      int         `json:"count" doc:"The number of entries in this answer."`
	HasMore    bool        `json:"has_more" doc:"Older entries remain."`
	NextBefore int64       `json:"next_before" doc:"The value of before for the next page, 0 on the last one."`
	Limit      int         `json:"limit" doc:"The limit that was used."`
}

func (h *handlers) list(ctx context.Context, in *ListInput) (*httpapi.Output[ListBody], error) {
	f, err := in.filter()
	if err != nil {
		return nil, err
	}
	return httpapi.Show(func(p audit.Page) ListBody {
		return ListBody{Entries: httpapi.Rows(p.Lines, entryBody), Count: len(p.Lines), HasMore: p.HasMore,
			NextBefore: p.NextBefore, Limit: f.Limit}
	})(h.Trail.Page(ctx, f))
}
