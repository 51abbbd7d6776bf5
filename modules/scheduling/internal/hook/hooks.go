package hook

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/writ-automation/writ/modules/scheduling/internal/records"
	"github.com/writ-automation/writ/platform/background"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/scheduling"
)

const (
	// launchTimeout is the timeout of a launch. After it a delivery whose server crashed may be processed again.
	launchTimeout = time.Minute
	// noteTime is the timeout for recording the result of a launch.
	noteTime = 10 * time.Second
)

// tooLarge returns the fault of a delivery beyond the limit.
func tooLarge() error {
	return &fault.Error{Kind: fault.TooLarge, Message: fmt.Sprintf("a delivery has at most %d bytes", scheduling.MaxHook)}
}

// Hooks implements scheduling.Hooks.
type Hooks struct {
	triggers   scheduling.TriggerStore
	deliveries scheduling.DeliveryStore
	sealer     scheduling.Sealer
	owners     scheduling.Owners
	launcher   catalog.Launcher
	clock      clock.Clock
	log        *slog.Logger
	refusals   refusals
}

var _ scheduling.Hooks = (*Hooks)(nil)

// New creates a Hooks.
func New(
	t scheduling.TriggerStore, d scheduling.DeliveryStore, s scheduling.Sealer, o scheduling.Owners, l catalog.Launcher,
	c clock.Clock, log *slog.Logger,
) *Hooks {
	return &Hooks{triggers: t, deliveries: d, sealer: s, owners: o, launcher: l, clock: c, log: log}
}

// Errors: also TooLarge for a delivery of more than scheduling.MaxHook bytes, Unavailable for one that is still in
// progress, and the faults of the launch, after which the forge may send the delivery again.
func (h *Hooks) Deliver(ctx context.Context, d scheduling.Delivery) (scheduling.Delivered, error) {
	if len(d.Body) > scheduling.MaxHook {
		return scheduling.Delivered{}, tooLarge()
	}
	t, err := h.triggers.TriggerByToken(ctx, sha256.Sum256([]byte(d.Token)))
	if err != nil {
		return scheduling.Delivered{}, err
	}
	line := scheduling.LoggedDelivery{Verdict: scheduling.Refused}
	out, err := h.answer(ctx, &t, &d, &line)
	h.note(ctx, t.ID, &line, out, err)
	return out, err
}

// answer answers a delivery, and notes in its line what it is and how far it came.
func (h *Hooks) answer(
	ctx context.Context, t *scheduling.StoredTrigger, d *scheduling.Delivery, line *scheduling.LoggedDelivery,
) (scheduling.Delivered, error) {
	authenticated, err := h.prove(ctx, t, d)
	if err != nil {
		return scheduling.Delivered{}, err
	}
	from, event, err := recognise(d)
	if err != nil {
		return scheduling.Delivered{}, err
	}
	line.Event, line.DeliveryID = oneLine(event), oneLine(d.Header.Get(from.delivery))
	if event == "ping" {
		return ignored("ping"), nil
	}
	p, err := decode(d)
	if err != nil {
		return scheduling.Delivered{}, err
	}
	event = p.event(event)
	if line.Event = oneLine(event); !wanted(t.Events, event) {
		return ignored("the event is not one that the trigger waits for"), nil
	}
	raw, err := p.read(event)
	if err != nil {
		return scheduling.Delivered{}, err
	}
	switch {
	case t.Branch != "" && raw.targetBranch != t.Branch:
		return ignored("the branch is not the one that the trigger waits for"), nil
	case raw.deleted:
		return ignored("a deletion leaves nothing to run on"), nil
	}
	line.Verdict = scheduling.Failed
	return h.once(ctx, &t.Trigger, from.keys(d, authenticated), raw.push, line)
}

func ignored(why string) scheduling.Delivered { return scheduling.Delivered{Ignored: why, Done: true} }

// prove reports whether the delivery is signed. It returns BadSignature if a required signature is missing, or any
// signature is invalid.
func (h *Hooks) prove(ctx context.Context, t *scheduling.StoredTrigger, d *scheduling.Delivery) (bool, error) {
	refused := func() error { return scheduling.BadSignature.New("the signature of the delivery is missing or wrong") }
	if !proven(d) {
		if t.RequireSignature {
			return false, refused()
		}
		return false, nil
	}
	secret, err := h.sealer.Open(ctx, t.ID, t.Sealed)
	if err != nil {
		return false, fmt.Errorf("open a signing secret: %w", err)
	}
	if len(secret) == 0 || !verify(d, secret) {
		return false, refused()
	}
	return true, nil
}

// wanted reports whether a trigger for the events fires at event.
func wanted(events []string, event string) bool {
	if len(events) == 0 {
		return event == "push"
	}
	return slices.Contains(events, event)
}

// The pauses between checks whether a delivery in progress has ended.
const (
	firstLook = 100 * time.Millisecond
	looks     = 5
)

// once launches for the first delivery of its keys, and returns its result for every other one.
func (h *Hooks) once(
	ctx context.Context, t *scheduling.Trigger, k scheduling.DeliveryKeys, p push, line *scheduling.LoggedDelivery,
) (scheduling.Delivered, error) {
	pause := firstLook
	for n := 1; ; n++ {
		was, fresh, err := h.deliveries.Remember(ctx, t.ID, k, launchTimeout)
		switch {
		case err != nil:
			return scheduling.Delivered{}, err
		case fresh:
			return h.fire(ctx, t, k, p)
		case was.Done:
			line.Verdict = scheduling.Repeated
			return was, nil
		case n == looks:
			return scheduling.Delivered{}, &fault.Error{Kind: fault.Unavailable, Message: "this delivery is under way",
				RetryAfter: launchTimeout}
		}
		if !background.Wait(ctx, pause) {
			return scheduling.Delivered{}, ctx.Err()
		}
		pause *= 2
	}
}

// fire launches and records the result. Both continue if the forge closes the connection.
func (h *Hooks) fire(
	ctx context.Context, t *scheduling.Trigger, k scheduling.DeliveryKeys, p push,
) (scheduling.Delivered, error) {
	ctx = context.WithoutCancel(ctx)
	run, err := h.launch(ctx, t, k, p)
	note, cancel := context.WithTimeout(ctx, noteTime)
	defer cancel()
	if runs.TemplateBusy.Is(err) {
		h.log.InfoContext(ctx, "a delivery made no run", "trigger", t.ID, "err", err)
		skipped := ignored(runs.TemplateBusy.Name)
		if lost := h.deliveries.SettleDelivery(note, t.ID, k, skipped, ""); lost != nil {
			h.log.ErrorContext(ctx, "an ignored delivery was not forgotten", "trigger", t.ID, "err", lost)
		}
		return skipped, nil
	}
	if err != nil {
		reason := records.Reason(err)
		if lost := h.deliveries.SettleDelivery(note, t.ID, k, scheduling.Delivered{Done: true}, reason); lost != nil {
			h.log.ErrorContext(ctx, "a failed delivery was not noted", "trigger", t.ID, "err", lost)
		}
		h.log.WarnContext(ctx, "a delivery made no run", "trigger", t.ID, "err", err)
		return scheduling.Delivered{}, err
	}
	done := scheduling.Delivered{RunID: run, Done: true}
	if err := h.deliveries.SettleDelivery(note, t.ID, k, done, ""); err != nil {
		// The run exists; its key finds it again if the delivery is repeated.
		h.log.ErrorContext(ctx, "a delivery was not noted", "trigger", t.ID, "run", run, "err", err)
	}
	h.log.InfoContext(ctx, "trigger fired", "trigger", t.ID, "run", run)
	return done, nil
}

// launch has one idempotency key for each body, or for each id of a body that is not authenticated. A server that
// crashes after the launch leaves it to find the run again.
func (h *Hooks) launch(
	ctx context.Context, t *scheduling.Trigger, k scheduling.DeliveryKeys, p push,
) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, launchTimeout)
	defer cancel()
	ctx, err := h.as(ctx, t)
	if err != nil {
		return "", err
	}
	vars, err := p.vars()
	if err != nil {
		return "", err
	}
	key := digest([]byte(t.ID + "\n" + cmp.Or(k.Body, k.ID)))
	run, _, err := h.launcher.Launch(ctx, t.TemplateID, catalog.Launch{
		Source: runs.FromTrigger, By: t.ID, SystemVars: vars,
		Idempotency: &runs.Idempotency{Key: key, Scope: "hook", Digest: sha256.Sum256([]byte(key))},
	})
	if err != nil {
		return "", err
	}
	return run.ID, nil
}

// as returns the context in which the trigger acts: with the rights of its owner, and under its own name. A trigger
// without an owner acts as the application.
func (h *Hooks) as(ctx context.Context, t *scheduling.Trigger) (context.Context, error) {
	who := actor.Actor{Type: actor.Hook, ID: t.ID, Name: t.Name, IP: actor.From(ctx).IP}
	if t.Owner == "" {
		who.Type = actor.System
		return actor.With(ctx, who), nil
	}
	ctx, err := h.owners.As(ctx, t.Owner)
	if fault.Is(err, fault.NotFound) {
		return nil, scheduling.NotAllowed.New("the account that owns the trigger is gone").Because(err)
	}
	if err != nil {
		return nil, fmt.Errorf("act for the owner of a trigger: %w", err)
	}
	return actor.With(ctx, who), nil
}
