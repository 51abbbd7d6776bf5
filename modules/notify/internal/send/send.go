package send

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"

	"github.com/writ-automation/writ/modules/notify/internal/servertargets"
	"github.com/writ-automation/writ/modules/notify/internal/show"
	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/notify"
	"github.com/writ-automation/writ/ports/plaintext"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secrets"
)

// Runs reads the runs that deliveries are about.
type Runs interface {
	ByID(ctx context.Context, id string) (*runs.Run, error)
}

// Sender tries deliveries. It is safe for concurrent use.
type Sender struct {
	Runs          Runs
	Opener        notify.TargetOpener
	Renderer      notify.Renderer
	ServerTargets *servertargets.Targets
	Channels      map[string]notify.Channel // by kind
	Notifiers     map[string]extension.Notifier
	PublicURL     string // the server's own address, empty if it is not known
}

// Send makes one try within the time of ctx. It returns RunNotFound of package runs if the run is deleted. Any other
// error is a fault with a public message; Refused means that another try is useless.
func (s *Sender) Send(ctx context.Context, d notify.Delivery) error {
	r, err := s.Runs.ByID(ctx, d.RunID)
	switch {
	case runs.RunNotFound.Is(err):
		return err
	case err != nil:
		return internalFault(err, "the run could not be read")
	}
	masked := show.Run(r)
	record, err := s.Renderer.Record(masked)
	if err != nil {
		return internalFault(err, "the record of the run could not be made")
	}
	if d.Origin == notify.OfExtension {
		return s.call(ctx, d, masked, record)
	}
	channel, ok := s.Channels[d.Kind]
	if !ok {
		return notify.Refused.New("this server delivers no notifications of the kind %s", plaintext.Line(d.Kind, maxReason))
	}
	to, err := s.resolve(ctx, d, r)
	if err != nil {
		return err
	}
	m := notify.Message{Delivery: d.ID, Event: d.Event, Run: masked, Record: record, Drift: show.Drift(r, d.Drift)}
	if d.Drift != nil && s.PublicURL != "" {
		m.Link = s.PublicURL + "/ui/drift?target=" + url.QueryEscape(d.Drift.TargetID)
	}
	err = channel.Deliver(ctx, to, m)
	return sanitize(err, to.URL.Reveal(), to.Key.Reveal())
}

// call calls a notifier of an extension.
func (s *Sender) call(ctx context.Context, d notify.Delivery, r *runs.Run, record json.RawMessage) error {
	n, ok := s.Notifiers[d.Kind]
	if !ok {
		return notify.Refused.New("this server has no notifier of this name any more")
	}
	return sanitize(n.Notify(ctx, extension.EndedRun{
		Delivery: d.ID, ID: r.ID, Name: r.Name, Tool: r.Spec.Tool, Status: string(r.Status), Error: r.Error,
		StartedAt: r.StartedAt, EndedAt: r.EndedAt, Record: record,
	}))
}

// resolve returns the target of a delivery. The targets of a run come from its record, which never changes.
func (s *Sender) resolve(ctx context.Context, d notify.Delivery, r *runs.Run) (notify.Target, error) {
	if d.Origin == notify.OfServer {
		to, ok := s.ServerTargets.Find(d.Digest)
		if !ok {
			return to, notify.Refused.New("the server's target is no longer configured")
		}
		return to, nil
	}
	if d.Position >= len(r.Spec.Notifications) {
		return notify.Target{}, notify.Refused.New("the run does not name this target")
	}
	n := r.Spec.Notifications[d.Position]
	if n.Ref == "" {
		to := notify.Target{Kind: n.Kind, To: n.To}
		if address, key := notify.IsMask(n); address || key {
			return to, notify.Refused.New("only the mask of this target was stored")
		}
		return notify.Target{Kind: n.Kind, URL: text(n.URL), Key: text(n.Key), To: n.To}, nil
	}
	to, err := s.Opener.Open(ctx, n)
	switch {
	case err == nil:
		return to, nil
	case secrets.KeyLost.Is(err):
		return to, notify.Refused.New("the target is sealed under a key that this install does not have").Because(err)
	case notify.TargetNotFound.Is(err):
		return to, notify.Refused.New("the target no longer exists").Because(err)
	default:
		return to, internalFault(err, "the target could not be read")
	}
}

// internalFault is the fault of an internal error, which is logged.
func internalFault(err error, format string, args ...any) error {
	kind := fault.Internal
	if fault.Is(err, fault.Unavailable) {
		kind = fault.Unavailable
	}
	return fault.Wrap(kind, err, "%s", fmt.Sprintf(format, args...))
}
