package trigger

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/writ-automation/writ/modules/scheduling/internal/records"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/scheduling"
	"github.com/writ-automation/writ/ports/secret"
)

// Triggers implements scheduling.Triggers.
type Triggers struct {
	object.Kernel
	permissions *object.Permissions
	store       scheduling.TriggerStore
	log         scheduling.DeliveryStore
	sealer      scheduling.Sealer
}

var _ scheduling.Triggers = (*Triggers)(nil)

// New creates a Triggers.
func New(
	k object.Kernel, p *object.Permissions, s scheduling.TriggerStore, log scheduling.DeliveryStore,
	sealer scheduling.Sealer,
) *Triggers {
	return &Triggers{Kernel: k, permissions: p, store: s, log: log, sealer: sealer}
}

const kind = "trigger"

// secretBytes is the number of random bytes in a token and in a signing secret.
const secretBytes = 32

func random() []byte {
	b := make([]byte, secretBytes)
	_, _ = rand.Read(b) // never fails
	return b
}

// Errors: Invalid faults name name, template_id, branch or events[i]; TemplateNotFound of package catalog and
// UseRequired of package runs name template_id; NameTaken.
func (t *Triggers) Create(ctx context.Context, x scheduling.Trigger) (scheduling.NewTrigger, error) {
	if err := t.settle(ctx, &x); err != nil {
		return scheduling.NewTrigger{}, err
	}
	if err := t.permissions.CheckOrgs(ctx, kind, x.Org); err != nil {
		return scheduling.NewTrigger{}, err
	}
	token := base64.RawURLEncoding.EncodeToString(random())
	made := scheduling.StoredTrigger{TokenHash: sha256.Sum256([]byte(token)), Trigger: x}
	made.Owner = records.Owner(ctx)
	t.Created(ctx, ids.Trigger, &made.Record.Record)
	signing, sealed, err := t.secret(ctx, made.ID)
	if err != nil {
		return scheduling.NewTrigger{}, err
	}
	made.Sealed = sealed
	err = t.Unit.Do(ctx, func(ctx context.Context) error {
		if err := t.store.InsertTrigger(ctx, made); err != nil {
			return err
		}
		return t.note(ctx, audit.TriggerCreate, &made.Trigger)
	})
	if err != nil {
		return scheduling.NewTrigger{}, err
	}
	t.Log.InfoContext(ctx, "trigger created", "trigger", made.ID, "by", made.CreatedBy)
	return scheduling.NewTrigger{Trigger: made.Trigger, Token: secret.Text(token), SigningSecret: signing}, nil
}

// secret creates a signing secret and its sealed form, which opens only for the trigger.
func (t *Triggers) secret(ctx context.Context, id string) (secret.Text, []byte, error) {
	text := hex.EncodeToString(random())
	sealed, err := t.sealer.Seal(ctx, id, []byte(text))
	if err != nil {
		return "", nil, fmt.Errorf("seal a signing secret: %w", err)
	}
	return secret.Text(text), sealed, nil
}

// settle normalizes and checks the fields that a caller sets. The trigger fires with the rights of the author of its
// last change, who therefore needs use access to the template.
func (t *Triggers) settle(ctx context.Context, x *scheduling.Trigger) (err error) {
	if x.Name, err = object.Name(x.Name); err != nil {
		return err
	}
	if err := check(x); err != nil {
		return err
	}
	if len(x.Events) == 0 {
		x.Events = nil
	}
	x.LastFiredAt, x.LastRunID, x.LastError = time.Time{}, "", ""
	ref := template(x)
	for _, c := range []struct {
		want    access.Level
		refusal error
	}{{access.Read, ref.Missing()}, {access.Use, ref.Unusable()}} {
		if ok, err := t.permissions.May(ctx, c.want, x.TemplateID); err != nil || !ok {
			if err == nil {
				err = c.refusal
			}
			return err
		}
	}
	return nil
}

func template(x *scheduling.Trigger) object.Reference {
	return object.Reference{Field: "template_id", Kind: ids.Template, ID: x.TemplateID}
}

// note stores the references of a trigger and records its change.
func (t *Triggers) note(ctx context.Context, a audit.Action, x *scheduling.Trigger) error {
	if err := (object.References{template(x)}).Store(ctx, t.permissions.Usage, x.ID); err != nil {
		return err
	}
	return t.record(ctx, a, x)
}

func (t *Triggers) record(ctx context.Context, a audit.Action, x *scheduling.Trigger) error {
	return t.Recorder.Record(ctx, audit.Entry{
		Action: a, Object: audit.Object{Kind: kind, ID: x.ID, Name: x.Name},
		Detail: map[string]any{
			"template_id": x.TemplateID, "require_signature": x.RequireSignature, "branch": x.Branch,
			"events": object.Texts(x.Events),
			"org_id": x.Org, "owner": x.Owner,
		},
	})
}

func (t *Triggers) Get(ctx context.Context, id string) (scheduling.Trigger, error) {
	x, err := t.store.TriggerByID(ctx, id)
	if err != nil {
		return scheduling.Trigger{}, err
	}
	ok, err := t.permissions.CanRead(ctx, x.Org, x.TemplateID)
	if err == nil && !ok {
		err = scheduling.TriggerNotFound.New("no trigger %q", id)
	}
	if err != nil {
		return scheduling.Trigger{}, err
	}
	return x.Trigger, nil
}

func (t *Triggers) List(ctx context.Context, f scheduling.Filter, w page.Window) ([]scheduling.Trigger, int, error) {
	scope, err := t.permissions.Scope(ctx)
	if err != nil {
		return nil, 0, err
	}
	return t.store.ListTriggers(ctx, scope, f, w)
}

func (t *Triggers) Deliveries(
	ctx context.Context, id string, w page.Window,
) ([]scheduling.LoggedDelivery, int, error) {
	if _, err := t.Get(ctx, id); err != nil {
		return nil, 0, err
	}
	return t.log.LoggedDeliveries(ctx, id, w)
}
