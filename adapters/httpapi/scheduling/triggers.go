package scheduling

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/scheduling"
)

// NewTriggerBody is a request for a trigger.
type NewTriggerBody struct {
	Name             string   `json:"name" minLength:"1" maxLength:"200"`
	TemplateID       string   `json:"template_id" minLength:"1"`
	RequireSignature *bool    `json:"require_signature,omitempty" doc:"True if absent."`
	Branch           string   `json:"branch,omitempty" maxLength:"255" doc:"Only pushes to it launch; every branch if absent."`
	Events           []string `json:"events,omitempty" maxItems:"20" doc:"Only these launch, as the forge names them; only push if absent."`
	Org              string   `json:"org_id,omitempty"`
}

// ChangedTriggerBody replaces the fields of a trigger that a caller may set.
type ChangedTriggerBody struct {
	httpapi.Record
	TriggerState
	Name             string    `json:"name" minLength:"1" maxLength:"200"`
	TemplateID       *string   `json:"template_id,omitempty"`
	RequireSignature *bool     `json:"require_signature,omitempty"`
	Branch           *string   `json:"branch,omitempty" maxLength:"255"`
	Events           *[]string `json:"events,omitempty" maxItems:"20"`
	Org              *string   `json:"org_id,omitempty"`
}

// over returns t with the changed fields.
func (b *ChangedTriggerBody) over(t scheduling.Trigger) scheduling.Trigger {
	t.Name = b.Name
	replace(&t.TemplateID, b.TemplateID)
	replace(&t.RequireSignature, b.RequireSignature)
	replace(&t.Branch, b.Branch)
	replace(&t.Events, b.Events)
	replace(&t.Org, b.Org)
	return t
}

func replace[T any](to, with *T) {
	if with != nil {
		*to = *with
	}
}

// TriggerBody is a trigger. Empty fields are absent, except events.
type TriggerBody struct {
	httpapi.Record
	TriggerState
	Name             string   `json:"name"`
	TemplateID       string   `json:"template_id"`
	RequireSignature bool     `json:"require_signature"`
	Branch           string   `json:"branch,omitempty"`
	Events           []string `json:"events"`
	Org              string   `json:"org_id,omitempty"`
}

// TriggerState is the result of the last delivery that launched.
type TriggerState struct {
	LastFiredAt *time.Time `json:"last_fired_at,omitempty" readOnly:"true"`
	LastRunID   string     `json:"last_run_id,omitempty" readOnly:"true"`
	LastError   string     `json:"last_error,omitempty" readOnly:"true"`
}

func triggerBody(t scheduling.Trigger) TriggerBody {
	return TriggerBody{
		Record:       httpapi.RecordOf(t.Record.Record),
		TriggerState: TriggerState{httpapi.When(t.LastFiredAt), t.LastRunID, t.LastError},
		Name:         t.Name, TemplateID: t.TemplateID, RequireSignature: t.RequireSignature, Branch: t.Branch,
		Events: append([]string{}, t.Events...), Org: t.Org,
	}
}

// MadeTriggerBody is a new trigger with the secrets that are shown once.
type MadeTriggerBody struct {
	TriggerBody
	Token         string `json:"token" doc:"Shown only once. Anyone who has it can call the hook."`
	HookPath      string `json:"hook_path" doc:"The path for the forge to call, with the token in it."`
	SigningSecret string `json:"signing_secret" doc:"Shown only once. The forge signs its deliveries with it."`
}

// RotatedTriggerBody is a trigger with its new signing secret.
type RotatedTriggerBody struct {
	TriggerBody
	SigningSecret string `json:"signing_secret" doc:"Shown only once. The previous one is no longer valid."`
}

func triggerRecord(t scheduling.Trigger) object.Record { return t.Record.Record }

// made is the answer with a new trigger.
func made(t scheduling.NewTrigger) MadeTriggerBody {
	token := t.Token.Reveal()
	return MadeTriggerBody{
		TriggerBody: triggerBody(t.Trigger), Token: token, HookPath: hooksPath + url.PathEscape(token),
		SigningSecret: t.SigningSecret.Reveal(),
	}
}

func (b *NewTriggerBody) trigger() scheduling.Trigger {
	return scheduling.Trigger{
		Record: scheduling.Record{Record: object.Record{Name: b.Name, Org: b.Org}}, TemplateID: b.TemplateID,
		RequireSignature: b.RequireSignature == nil || *b.RequireSignature, Branch: b.Branch, Events: b.Events,
	}
}

func (h *handlers) updateTrigger(
	ctx context.Context, in *httpapi.ChangeInput[ChangedTriggerBody],
) (scheduling.Trigger, error) {
	get := func(ctx context.Context) (scheduling.Trigger, int64, error) {
		t, err := h.Triggers.Get(ctx, in.ID)
		return t, t.Revision, err
	}
	return amend(ctx, in.IfMatch.Revision(), get,
		func(ctx context.Context, stored scheduling.Trigger, revision int64) (scheduling.Trigger, error) {
			err := in.Body.Unchanged(in.ID, func() (object.Record, error) { return stored.Record.Record, nil })
			if err != nil {
				return stored, err
			}
			return h.Triggers.Update(ctx, in.ID, revision, in.Body.over(stored))
		})
}

// TriggerList lists triggers by name.
type TriggerList struct {
	Triggers []TriggerBody `json:"triggers"`
	httpapi.Listed
}

func triggerList(rows []TriggerBody, l httpapi.Listed) TriggerList { return TriggerList{rows, l} }

// LoggedDeliveryBody is a delivery in the log of its trigger.
type LoggedDeliveryBody struct {
	At         time.Time `json:"at"`
	Verdict    string    `json:"verdict" enum:"fired,repeated,ignored,refused,failed" doc:"It launched a run; came before; is of no interest to the trigger; has no valid signature or no known form; launched nothing and may be sent again."`
	Event      string    `json:"event,omitempty" doc:"As the forge names it."`
	DeliveryID string    `json:"delivery_id,omitempty" doc:"The forge's."`
	Reason     string    `json:"reason,omitempty" doc:"Why it launched nothing."`
	RunID      string    `json:"run_id,omitempty"`
}

// LoggedDeliveryList lists deliveries, the newest first.
type LoggedDeliveryList struct {
	Deliveries []LoggedDeliveryBody `json:"deliveries"`
	httpapi.Listed
}

func deliveryList(rows []LoggedDeliveryBody, l httpapi.Listed) LoggedDeliveryList {
	return LoggedDeliveryList{rows, l}
}

func loggedDeliveryBody(d scheduling.LoggedDelivery) LoggedDeliveryBody {
	return LoggedDeliveryBody{d.At, string(d.Verdict), d.Event, d.DeliveryID, d.Reason, d.RunID}
}

// DeliveriesInput selects a window of the deliveries of a trigger.
type DeliveriesInput struct {
	ID string `path:"id" example:"trg_01k0a0008vtx5zk9w2m4n6p8rs"`
	httpapi.Window
}

func (h *handlers) triggers(r *httpapi.Router) {
	k := httpapi.Kind[scheduling.Trigger, TriggerBody]{
		Path: "/v1/triggers", Noun: "trigger", Tag: tag, Read: readAccess(), Write: writeAccess(),
		Example: exampleTrigger(), Request: exampleTriggerChange(), Body: triggerBody, Record: triggerRecord,
	}
	fresh := httpapi.Kind[scheduling.NewTrigger, MadeTriggerBody]{
		Path: k.Path, Noun: k.Noun, Tag: tag, Write: k.Write, Example: exampleMadeTrigger(), Request: exampleNewTrigger(),
		Body: made, Record: func(t scheduling.NewTrigger) object.Record { return t.Record.Record },
	}
	rotated := httpapi.Kind[scheduling.NewTrigger, RotatedTriggerBody]{
		Path: k.Path, Noun: k.Noun, Tag: tag, Write: k.Write, Record: fresh.Record,
		Example: RotatedTriggerBody{TriggerBody: exampleTrigger(), SigningSecret: exampleSecret},
		Body: func(t scheduling.NewTrigger) RotatedTriggerBody {
			return RotatedTriggerBody{triggerBody(t.Trigger), t.SigningSecret.Reveal()}
		},
	}
	httpapi.Handle(r, fresh.Create(audit.TriggerCreate, "Create a trigger",
		"The token, the path of the hook and the signing secret are shown in this answer alone."),
		httpapi.Creator(fresh, (*NewTriggerBody).trigger, h.Triggers.Create))
	httpapi.HandleList(r, k.List("List triggers",
		"Those that the caller may read. last_error says why the last delivery made no run."),
		triggerList, triggerBody, httpapi.Filtered((*ListInput).filter, h.Triggers.List), k.Example)
	httpapi.Handle(r, k.Get("Read one trigger", "The token and the signing secret are never shown again."),
		k.Getter(h.Triggers.Get))
	httpapi.Handle(r, k.Update(audit.TriggerUpdate,
		"Rename a trigger, toggle its signature enforcement, or change what it launches on",
		"The name is replaced. Every other member stays as it is where it is omitted; an empty branch, events or org_id "+
			"clears. The token and the signing secret stay."),
		func(
			ctx context.Context, in *httpapi.ChangeInput[ChangedTriggerBody],
		) (*httpapi.ObjectOutput[TriggerBody], error) {
			return k.Show(h.updateTrigger(ctx, in))
		})
	httpapi.Handle(r, k.Delete(audit.TriggerDelete, "Delete a trigger and revoke its hook",
		"Deliveries are refused from then on. Runs that it made stay."), httpapi.Deleter(h.Triggers.Delete))
	httpapi.HandleList(r, httpapi.Route{
		Method: http.MethodGet, Path: k.Path + "/{id}/deliveries", ID: "list-trigger-deliveries", Tag: tag,
		Summary: "List the newest deliveries of a trigger and what became of them",
		Description: "The newest 50 are kept. Of refused ones, at most one in ten seconds is: whoever sends them has " +
			"proved nothing.",
		Access: readAccess(), Status: http.StatusOK, Errors: []int{http.StatusNotFound},
	}, deliveryList, loggedDeliveryBody,
		func(ctx context.Context, in *DeliveriesInput) ([]scheduling.LoggedDelivery, int, error) {
			return h.Triggers.Deliveries(ctx, in.ID, in.Page())
		}, exampleDeliveries()...)
	rotate := rotated.Act("rotate-secret", audit.TriggerRotate, "Make a new signing secret for a trigger",
		"The secret is shown in this answer alone; the one before holds no more. The token stays.")
	rotate.ID, rotate.Errors = "rotate-trigger-secret", []int{http.StatusNotFound}
	httpapi.Handle(r, rotate, rotated.Getter(h.Triggers.Rotate))
}
