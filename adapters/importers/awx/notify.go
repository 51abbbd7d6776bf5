package awx

import (
	"fmt"
	"net/mail"
	"net/url"
	"slices"
	"strings"

	"github.com/writ-automation/writ/adapters/importers/draft"
	"github.com/writ-automation/writ/ports/importer"
	"github.com/writ-automation/writ/ports/object"
)

// channel is a notification template that is attached to something, with the events that it tells.
type channel struct {
	key                               any
	from                              string // its name, and what it is attached to
	started, success, fails, approval bool
}

// attached returns the notification templates that an object names, each once.
func (x *reader) attached(ref string, related *record) []channel {
	var out []channel
	at := map[string]int{}
	for _, event := range []string{"started", "success", "error", "approvals"} {
		for _, key := range related.list("notification_templates_" + event) {
			id := fmt.Sprint(key)
			i, ok := at[id]
			if !ok {
				i = len(out)
				at[id], out = i, append(out, channel{key: key})
			}
			switch event {
			case "started":
				out[i].started = true
			case "success":
				out[i].success = true
			case "error":
				out[i].fails = true
			default:
				out[i].approval = true
			}
		}
	}
	return out
}

// notification reads a notification template. It is no object here: the templates that name it have its target.
func (x *reader) notification(e *entry, r *record) {
	o := x.Add(importer.Object{Kind: "notification_template", Name: e.name, Ref: e.ref, Class: importer.NoHome})
	e.object = o
	c := r.child("notification_configuration")
	n, reason := target(r.line("notification_type"), c)
	if reason == "" {
		if n.Kind == "email" || n.Kind == "twilio" {
			draft.Warn(o, "notification_configuration", "It is sent by the mail server, or the account, of the configuration.")
		} else {
			c.rest(o, "notification_configuration.")
		}
	}
	if reason != "" {
		o.Reason, e.unknown = reason, n.Kind == ""
		return
	}
	e.target = &n
	if !blank(r.take("messages")) {
		draft.Warn(o, "messages", "The texts of messages are those of the server.")
	}
}

// targets says of each notification template how many templates have it.
func (x *reader) targets() {
	for _, e := range x.lists["notification_templates"] {
		if e.object != nil && e.object.Reason == "" {
			e.object.Reason = fmt.Sprintf(
				"A target of notifications is a setting of templates here, and %d of them have this one.", e.uses)
		}
	}
}

// target returns what a notification template becomes in a template, or why there is no counterpart.
func target(kind string, c *record) (n importer.Notification, reason string) {
	switch kind {
	case "email":
		to := make([]string, 0, len(c.list("recipients")))
		for _, v := range c.list("recipients") {
			to = append(to, strings.TrimSpace(text(v)))
		}
		n = importer.Notification{Kind: "email", To: strings.Join(to, ", ")}
		if _, err := mail.ParseAddressList(n.To); err != nil || !object.Line(n.To, maxPath) {
			return n, "The notification has no list of mail addresses."
		}
		return n, ""
	case "twilio":
		to := c.list("to_numbers")
		n.Kind = kind
		if len(to) != 1 || !object.Line(text(to[0]), maxVariable) || text(to[0]) == "" {
			return n, "A target of text messages is one number here; set each number in the templates."
		}
		return importer.Notification{Kind: "twilio", To: text(to[0])}, ""
	case "mattermost", "rocketchat", "webhook":
		n = importer.Notification{Kind: kind, URL: c.line(map[string]string{
			"mattermost": "mattermost_url", "rocketchat": "rocketchat_url", "webhook": "url",
		}[kind])}
		u, err := url.Parse(n.URL)
		switch {
		case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || !object.Line(n.URL, maxPath):
			return n, "The address is not in the export; set it in the templates."
		case kind == "webhook" && c.line("http_method") != "" && !strings.EqualFold(c.line("http_method"), "post"):
			return n, "A webhook is sent with POST here, and this one has another method."
		case kind == "webhook" && (c.line("username") != "" || !blank(c.take("headers"))):
			return n, "A webhook has no headers and no login here."
		}
		return n, ""
	case "slack":
		n.Kind = kind
		return n, "The product posts with a token of a bot, and Slack is reached by an incoming webhook here; " +
			"set its address."
	case "pagerduty", "grafana":
		n.Kind = kind
		return n, "The key is not in the export; set the target with its key in the templates."
	default:
		return n, "There is no kind of notifications for " + shown(kind) + "."
	}
}

// notify sets the targets of a template: its own, and those of its project and organization, as the product does.
func (x *reader) notify(o *importer.Object, spec *importer.TemplateSpec, own []channel, parents ...*entry) {
	var all []channel
	at := map[string]int{}
	enter := func(c channel, from string) {
		id := fmt.Sprint(c.key)
		i, ok := at[id]
		if !ok {
			i = len(all)
			at[id], all = i, append(all, channel{key: c.key, from: shown(named(c.key)) + from})
		}
		t := &all[i]
		t.started, t.success = t.started || c.started, t.success || c.success
		t.fails, t.approval = t.fails || c.fails, t.approval || c.approval
	}
	for _, c := range own {
		enter(c, "")
	}
	for _, p := range parents {
		if p == nil {
			continue
		}
		for _, c := range p.channels {
			enter(c, fmt.Sprintf(" of the %s %q", p.kind, p.name))
		}
	}
	for _, c := range all {
		x.tell(o, spec, c)
	}
}

// tell adds a target to a template.
func (x *reader) tell(o *importer.Object, spec *importer.TemplateSpec, c channel) {
	const field, most = "related.notification_templates", 1000
	e := x.find("notification_template", c.key)
	switch {
	case e == nil:
		draft.Need(o, field, "The notification template %s is not in the export; set the target by hand.", c.from)
		return
	case e.unknown:
		draft.Warn(o, field, "The notification %s is not kept. %s", c.from, e.object.Reason)
		return
	case e.target == nil:
		draft.Need(o, field, "The notification %s is not kept. %s", c.from, e.object.Reason)
		return
	case !c.fails && !c.success:
		draft.Warn(o, field, "The notification %s is not kept, because it only tells of starts or approvals.", c.from)
		return
	case !c.fails:
		draft.Warn(o, field, "The notification %s is not kept: no target is told of successes alone.", c.from)
		return
	}
	n := *e.target
	n.OnFailure = !c.success
	if slices.Contains(spec.Notifications, n) || len(spec.Notifications) == most {
		return
	}
	spec.Notifications = append(spec.Notifications, n)
	e.uses++
	draft.Map(o, "The notification %s became a target of the kind %s.", c.from, n.Kind)
	if c.started {
		draft.Warn(o, field, "The target %s is not told of starts.", c.from)
	}
	if c.approval {
		draft.Map(o, "The target %s is also told of runs that wait for an approval, unless it is only for failures.", c.from)
	}
}

func (x *reader) organization(e *entry, r *record) {
	e.channels = x.attached(r.ref, r.child("related"))
	x.Skip("organization", e.name, e.ref,
		"Organizations are not imported; what belongs to this one belongs to none here, except its notifications.")
}
